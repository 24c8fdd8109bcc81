# Sourced by setup.sh: runs a step only when its inputs changed.
# A step's stamp is the hash of its input files, of where .deps lies and of the stamp of the step before
# it, so that a changed step repeats the ones after it. It is written only when the step has succeeded.

previous_stamp=

# step NAME INPUT... -- COMMAND...
step() {
    local name=$1 inputs=() stamp
    shift
    while [ "$1" != -- ]; do
        inputs+=("$1")
        shift
    done
    shift
    stamp=$( (printf '%s\n' "$previous_stamp" "$deps"; cat "${inputs[@]}") | sha256)
    previous_stamp=$stamp
    local file=$deps/stamp-$name
    if [ -f "$file" ] && [ "$(<"$file")" = "$stamp" ]; then
        return
    fi
    printf 'set-up: %s ...\n' "$name"
    rm -f "$file"
    local began=$SECONDS
    "$@"
    printf '%s\n' "$stamp" >"$file"
    printf 'set-up: %s done in %d s\n' "$name" $((SECONDS - began))
}

sha256() {
    if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi | cut -d' ' -f1
}

# Two set-ups at the same time would write into each other's files: the second waits, then skips all.
lock_once() {
    if command -v flock >/dev/null; then
        exec 9>"$deps/lock"
        flock 9
    fi
}
