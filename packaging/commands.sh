# shellcheck shell=bash
# Sourced by the scripts here. With `dry_run=yes` every command is printed and none is run.

# run COMMAND...: what changes anything goes through here. Settings are given as `env NAME=value COMMAND...`.
run() {
    printf '+'
    printf ' %q' "$@"
    printf '\n'
    if [ "${dry_run:-no}" = no ]; then
        "$@"
    fi
}

fail() {
    printf '%s: %s\n' "${0##*/}" "$1" >&2
    exit 1
}

# require COMMAND HINT
require() {
    if [ "${dry_run:-no}" = no ] && ! command -v "$1" >/dev/null; then
        fail "there is no $1: $2"
    fi
}

# variable_of TRIPLE: as cargo and the build scripts spell it in the names of settings.
variable_of() {
    tr 'a-z-' 'A-Z_' <<<"$1"
}

# check_engines LIST: fails unless these are features of engines, separated by commas.
check_engines() {
    case $1 in
    tflite | onnxruntime | tflite,onnxruntime | onnxruntime,tflite) ;;
    *) fail "engines are tflite, onnxruntime or tflite,onnxruntime, not '$1'" ;;
    esac
}

has_engine() {
    [[ ",$1," == *",$2,"* ]]
}
