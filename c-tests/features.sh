#!/usr/bin/env bash
# features.sh: each set of cargo features that leaves an engine out compiles without a warning, and a C program finds in it
# what its zerobind_config.h says. The sets that exclude each other are refused with a text.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
target=$root/target/features
. "$root/c-tests/features/compile.sh"
export ZEROBIND_TFLITE_LIB=${ZEROBIND_TFLITE_LIB:-$root/.deps/engines/libtensorflowlite_c.so}
export ZEROBIND_ONNXRUNTIME_LIB=${ZEROBIND_ONNXRUNTIME_LIB:-$root/.deps/engines/libonnxruntime.so}
export ZB_TEST_MODELS=${ZB_TEST_MODELS:-$root/.deps/models} ORT_DISABLE_TELEMETRY=1

check_set() {
    local features=$1
    echo "== features: ${features:-none}"
    local cargo=(--quiet --locked --lib --no-default-features --features "$features"
        --manifest-path "$root/Cargo.toml" --target-dir "$target")
    cargo clippy "${cargo[@]}" -- -D warnings
    # rustc, for the one kind of library that is used here
    cargo rustc "${cargo[@]}" --crate-type cdylib
    compile_contents "$target/debug" "$target/contents"
    LD_LIBRARY_PATH=$target/debug "$target/contents"
}

# check_refused FEATURES TEXT: does not compile, and says TEXT.
check_refused() {
    echo "== features: $1 (refused)"
    if cargo check --quiet --locked --no-default-features --features "$1" --manifest-path "$root/Cargo.toml" \
        --target-dir "$target" >"$target/log" 2>&1; then
        echo "the features $1 compile" >&2
        return 1
    fi
    grep -F "$2" "$target/log"
}

check_set load-dynamic,tflite
check_set load-dynamic,onnxruntime
check_set ""
check_refused tflite 'an engine needs a way into the process'
# without an engine, since nothing is to be linked here
check_refused load-dynamic,linked 'exclude each other'
