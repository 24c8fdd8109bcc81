#!/usr/bin/env bash
# cross.sh TRIPLE: the library for another processor, with the mock engine, and the tests that need no real engine:
# the unit tests of the handle table and of what is below it, and the C tests on the mock engine.
#   aarch64-unknown-linux-gnu  under qemu-user, std from Debian
#   i686-unknown-linux-gnu     natively: the kernel of an x86-64 runs it; std built from Debian's sources of it
# The toolchain is that of scripts/cross_toolchain.sh, beside the project's own, which has no std for other processors.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
triple=$1
cross=$root/.deps/cross
target=$root/target/cross
library=$target/$triple/debug
programs=$target/$triple/c-tests
shared=(harness mock gated plug executor)
warnings=(-std=c99 -O1 -g -Wall -Wextra -Wpedantic -Wconversion -Werror)

case $triple in
aarch64-unknown-linux-gnu)
    prefix=aarch64-linux-gnu
    build_std=()
    runner=(qemu-aarch64 -L /usr/aarch64-linux-gnu)
    loader=()
    ;;
i686-unknown-linux-gnu)
    prefix=i686-linux-gnu
    build_std=("-Zbuild-std=std,panic_unwind,test")
    runner=()
    # so that the programs run by their names, without a 32-bit system being installed
    loader=("-Wl,-dynamic-linker,/usr/i686-linux-gnu/lib/ld-linux.so.2" "-Wl,-rpath,/usr/i686-linux-gnu/lib")
    ;;
*)
    echo "cross.sh: no way to run programs for $triple is known" >&2
    exit 2
    ;;
esac

setting=CARGO_TARGET_$(tr 'a-z-' 'A-Z_' <<<"$triple")
export RUSTC=$cross/rustc RUSTC_BOOTSTRAP=1
export "${setting}_LINKER=$prefix-gcc"
if [ ${#runner[@]} -gt 0 ]; then
    export "${setting}_RUNNER=${runner[*]}"
fi
if [ ${#loader[@]} -gt 0 ]; then
    export "${setting}_RUSTFLAGS=${loader[*]/#/-Clink-arg=}"
fi
cargo=(--quiet --locked --lib --no-default-features --features "mock,tflite,onnxruntime,load-dynamic" --target "$triple"
    --manifest-path "$root/Cargo.toml" --target-dir "$target" "${build_std[@]}")

# not what needs an engine's library; the stress tests take minutes where every instruction is translated, as would as many
# cases of each property as elsewhere
run_unit_tests() {
    PROPTEST_CASES=${PROPTEST_CASES:-16} cargo test "${cargo[@]}" -- --skip runtime::tflite::tests --skip runtime::onnxruntime::tests --skip stress
}

# The tests that cmake registers for the mock engine alone, and the layout of the ABI.
list_tests() {
    sed -n 's/^zerobind_add_test(\([a-z_]*\) MOCK.*/\1/p' "$root/c-tests/CMakeLists.txt"
    echo abi
}

build_c_tests() {
    mkdir -p "$programs"
    ln -sf libzerobind.so "$library/libzerobind.so.0"
    local objects=()
    for source in "${shared[@]}"; do
        objects+=("$programs/$source.o")
        "$prefix-gcc" "${warnings[@]}" -I "$root/include" -c "$root/c-tests/$source.c" -o "$programs/$source.o"
    done
    for name in $(list_tests); do
        "$prefix-gcc" "${warnings[@]}" -I "$root/include" "$root/c-tests/test_$name.c" "${objects[@]}" \
            -L "$library" -l:libzerobind.so.0 -Wl,-rpath,"$library" "${loader[@]}" -lpthread -ldl -lm -o "$programs/test_$name"
    done
}

run_c_tests() {
    local failed=()
    for name in $(list_tests); do
        echo "== $name, $triple"
        # as many rounds as where valgrind is slow
        ZB_TEST_MEMCHECK=1 timeout 300 "${runner[@]}" "$programs/test_$name" || failed+=("$name")
    done
    [ ${#failed[@]} -eq 0 ] || { echo "$triple: failed: ${failed[*]}" >&2; return 1; }
    echo "$triple: $(list_tests | wc -l) C tests passed"
}

cargo build "${cargo[@]}"
build_c_tests
run_c_tests
run_unit_tests
