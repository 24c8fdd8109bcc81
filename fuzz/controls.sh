#!/usr/bin/env bash
# controls.sh address|thread|memcheck...: bugs that are planted in the mock engine (src/runtime/mock/planted.rs), each of which
# has to be found by its checker, and named by it; otherwise the checker's lane says nothing, and this fails.
set -euo pipefail
. "$(dirname "$0")/lanes.sh"

log=$root/target/fuzz/control.txt
mkdir -p "$root/target/fuzz"
valgrind=(valgrind --quiet --error-exitcode=99 --exit-on-first-error=no --num-callers=20 --leak-check=full
    --show-leak-kinds=definite --errors-for-leak-kinds=definite "--suppressions=$root/c-tests/valgrind.supp")

# expect BUG REPORT PROGRAM...: the program fails with the bug, and a line of its report matches
expect() {
    local bug=$1 report=$2
    shift 2
    # the outer one keeps bash from telling how it ended
    if (ZEROBIND_PLANTED_BUG=$bug "$@" >"$log" 2>&1; exit $?) 2>/dev/null; then
        echo "control: $bug was not found by: $*" >&2
        return 1
    fi
    grep -aqE "$report" "$log" || {
        echo "control: $bug ended otherwise than by a report of '$report':" >&2
        head -60 "$log" >&2
        return 1
    }
    echo "control: $bug is found: $(grep -aoE "$report" "$log" | head -1)"
}

# expect_none PROGRAM...: the same program finds nothing where nothing is planted
expect_none() {
    "$@" >"$log" 2>&1 || {
        echo "control: without a bug there is a report:" >&2
        head -60 "$log" >&2
        return 1
    }
}

address() {
    local fuzz=("$(program_of address)" mock seconds=60 calls=40000 seed=1)
    expect_none "${fuzz[@]}" calls=4000
    expect stale-input 'AddressSanitizer: heap-use-after-free' "${fuzz[@]}"
    expect past-end 'AddressSanitizer: (heap-buffer-overflow|use-after-poison)' "${fuzz[@]}"
    expect past-output 'AddressSanitizer: (heap-buffer-overflow|use-after-poison)' "${fuzz[@]}"
    expect leak 'LeakSanitizer: detected memory leaks' "${fuzz[@]}" calls=2000
    # not the sanitizer: the compiler's own checks of pointers and sizes, which this build has as well
    ZB_FUZZ_LOUD=1 expect misaligned 'misaligned pointer dereference' "${fuzz[@]}"
    # the fuzzer's own eyes
    expect wrong-sum 'FAULT: .*(is wrong|other (bytes|values))' "${fuzz[@]}"
    guided_control
}

# libFuzzer ends at a planted fault, and leaves the program that showed it
guided_control() {
    local fuzzer=$root/target/fuzz/address/libfuzzer place=$root/target/fuzz/control
    [ -x "$fuzzer" ] || { echo 'control: libFuzzer: skipped, libclang-rt is not installed'; [ -z "${CI:-}" ]; return; }
    rm -rf "$place" && mkdir -p "$place"
    expect wrong-sum 'Test unit written to .*/crash-' "$fuzzer" -max_total_time=60 -max_len=1200 -close_fd_mask=2 \
        -artifact_prefix="$place/" "$root/fuzz/corpus"
    grep -aq 'INFO: Loaded 1 modules .*inline 8-bit counters' "$log" || {
        echo 'control: libFuzzer sees no counters of the library' >&2
        return 1
    }
}

thread() {
    local fuzz=("$(program_of thread)" mock seconds=60 calls=40000 seed=1)
    expect race 'ThreadSanitizer: data race' "${fuzz[@]}"
}

memcheck_controls() {
    local fuzz=("${valgrind[@]}" "${ZEROBIND_FUZZ_BUILD:-$root/build/fuzz}/fuzz_mock" mock seconds=60 calls=600 seed=1)
    expect stale-input 'Invalid read of size 1' "${fuzz[@]}"
    expect leak 'definitely lost' "${fuzz[@]}"
    local engine
    for engine in tflite onnxruntime; do
        # here the host breaks its promise, and the engine is one that no sanitizer looks into
        expect freed-host 'Invalid read of size' "${valgrind[@]}" "${ZEROBIND_FUZZ_BUILD:-$root/build/fuzz}/freed_host" "$engine"
        grep -aq "free'd" "$log"
    done
}

for checker in "$@"; do
    case $checker in
    memcheck) memcheck_controls ;;
    *) "$checker" ;;
    esac
done
