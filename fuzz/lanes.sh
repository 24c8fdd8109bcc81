# shellcheck shell=bash
# To be sourced: the lanes of the fuzzer. Each prints the calls it made, and fails on a fault; what made it fail is left in
# target/fuzz/, and `fuzz/replay.sh` runs it again.
. "$(dirname "${BASH_SOURCE[0]}")/build.sh"

faults=$root/target/fuzz/faults

# note_fault LANE FILE: keeps a program that ended a lane
note_fault() {
    mkdir -p "$faults"
    cp "$2" "$faults/$1-$(sha256sum "$2" | cut -c1-12)"
    echo "fuzz: FAULT in the lane $1; again: bash fuzz/replay.sh $1 $faults/$1-$(sha256sum "$2" | cut -c1-12)" >&2
}

# random LANE PROGRAM... : the driver with programs of its own
random() {
    local lane=$1 last=$root/target/fuzz/last-$1
    shift
    rm -f "$last"
    "$@" "last=$last" || { note_fault "$lane" "$last"; return 1; }
}

# guided SECONDS: libFuzzer, from the committed corpus; what it finds beside goes into target/fuzz/corpus
guided() {
    local found=$root/target/fuzz/corpus place=$root/target/fuzz/guided status=0
    # what an earlier run left is not of this one
    rm -rf "$place"
    mkdir -p "$found" "$place"
    [ -x "$root/target/fuzz/address/libfuzzer" ] || { echo 'fuzz: guided: skipped, libclang-rt is not installed'; [ -z "${CI:-}" ]; return; }
    "$root/target/fuzz/address/libfuzzer" -max_total_time="$1" -max_len=1200 -timeout=120 -close_fd_mask=2 -print_final_stats=1 \
        -artifact_prefix="$place/" "$found" "$root/fuzz/corpus" >"$place/log" 2>&1 || status=$?
    grep -a '^fuzz: \|FAULT\|^SUMMARY\|^stat::number_of_executed_units' "$place/log" || true
    local input
    for input in "$place"/crash-* "$place"/leak-* "$place"/timeout-* "$place"/oom-*; do
        [ -f "$input" ] && note_fault address "$input"
    done
    return "$status"
}

# memcheck ENGINE CALLS: the real engines under valgrind, over the library that CMake built
memcheck() {
    random "memcheck-$1" valgrind --fair-sched=try --quiet --error-exitcode=99 --exit-on-first-error=yes --num-callers=30 \
        --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite \
        "--suppressions=$root/c-tests/valgrind.supp" "${ZEROBIND_FUZZ_BUILD:-$root/build/fuzz}/fuzz" "$1" "${@:2}"
}
