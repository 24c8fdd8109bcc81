#!/usr/bin/env bash
# sanitize.sh [thread|address]...: the tests on the mock engine again, with library and tests built for a sanitizer.
# Without an argument both. Only here every access to memory is seen by a race detector: the real engines are not built for
# one, and a clean report around them means nothing.
#
# Rust's sanitizers are not stable: RUSTC_BOOTSTRAP opens them on the stable compiler, for this lane alone.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
triple=$(rustc -vV | sed -n 's/^host: //p')
# not event_fd: it counts descriptors, of which the sanitizer opens some of its own
tests=(busy panic threads_mock events event_cancel sync queue_order queue_repeats_mock sole queue_destroy queue_room executor executor_refuses queue_race)
shared=(harness mock gated plug executor)
warnings=(-Wall -Wextra -Wpedantic -Wconversion -Werror)

build_library() {
    local sanitizer=$1 flags="-Zsanitizer=$1"
    # only TSan changes how things are called, and the standard library is not built for it; so our locks tell it who had them
    [ "$sanitizer" = address ] || flags+=" -Cunsafe-allow-abi-mismatch=sanitizer --cfg zerobind_tsan"
    RUSTC_BOOTSTRAP=1 RUSTFLAGS="$flags" cargo build --quiet --locked --features mock --lib \
        --manifest-path "$root/Cargo.toml" --target "$triple" --target-dir "$root/target/$sanitizer-sanitizer"
}

# The runtime comes with rustc, so that it fits the library's instrumentation; the tests need only a compiler.
run_test() {
    local sanitizer=$1 name=$2 library=$3 program=$3/test_$2 runtime=${sanitizer:0:1}san
    runtime=$(echo "$(rustc --print target-libdir)"/librustc-*_rt."$runtime".a)
    local objects=()
    for source in "test_$name" "${shared[@]}"; do
        objects+=("$library/$source.o")
        "${CC:-clang}" -std=c99 -O1 -g -fsanitize="$sanitizer" -fno-omit-frame-pointer "${warnings[@]}" \
            -I "$root/include" -c "$root/c-tests/$source.c" -o "$library/$source.o"
    done
    "${CC:-clang}" -rdynamic "${objects[@]}" \
        -Wl,--whole-archive "$runtime" -Wl,--no-whole-archive \
        -L "$library" -lzerobind -Wl,-rpath,"$library" -lpthread -ldl -lrt -lm -o "$program"
    echo "== $name, $sanitizer sanitizer"
    ZB_TEST_MEMCHECK=1 "$program"
}

export TSAN_OPTIONS="suppressions=$root/c-tests/tsan.supp halt_on_error=1 ${TSAN_OPTIONS:-}"
export ASAN_OPTIONS="detect_leaks=1 ${ASAN_OPTIONS:-}"
[ $# -gt 0 ] || set -- thread address
for sanitizer in "$@"; do
    build_library "$sanitizer"
    library=$root/target/$sanitizer-sanitizer/$triple/debug
    ln -sf libzerobind.so "$library/libzerobind.so.0"
    for name in "${tests[@]}"; do
        run_test "$sanitizer" "$name" "$library"
    done
done
