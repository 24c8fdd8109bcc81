#!/usr/bin/env bash
# sanitize.sh [thread|address]...: the tests on the mock engine again, with library and tests built for a sanitizer.
# Without an argument both. Only here every access to memory is seen by a race detector: the real engines are not built for
# one, and a clean report around them means nothing.
set -euo pipefail
. "$(dirname "$0")/sanitized.sh"

# not event_fd: it counts descriptors, of which the sanitizer opens some of its own
tests=(busy panic threads_mock events event_cancel sync queue_order queue_repeats_mock sole queue_destroy queue_room executor executor_refuses queue_race)
shared=(harness mock gated plug executor)
warnings=(-Wall -Wextra -Wpedantic -Wconversion -Werror)

run_test() {
    local sanitizer=$1 name=$2 library=$3 program=$3/test_$2 runtime
    runtime=$(runtime_of "$sanitizer")
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

[ $# -gt 0 ] || set -- thread address
for sanitizer in "$@"; do
    build_library "$sanitizer"
    library=$(library_of "$sanitizer")
    for name in "${tests[@]}"; do
        run_test "$sanitizer" "$name" "$library"
    done
done
