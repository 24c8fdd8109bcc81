#!/usr/bin/env bash
# linked.sh BUILD: the library linked with its engines (feature `linked`), and the C tests of BUILD again over it: programs
# that were built against the other library, with this one in its place.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
build=$1
engines=$root/.deps/engines
target=$root/target/linked
library=$target/release
. "$root/c-tests/features/compile.sh"

# what the build scripts of tflitec and of ort-sys ask for
export TFLITEC_PREBUILT_PATH=$engines/libtensorflowlite_c.so
export TFLITEC_HEADER_DIR=$root/linked/headers
export ORT_LIB_LOCATION=$engines ORT_PREFER_DYNAMIC_LINK=1

export ZB_TEST_MODELS=$root/.deps/models ORT_DISABLE_TELEMETRY=1

fail() {
    echo "failed: $1" >&2
    exit 1
}

build_library() {
    local features=linked,tflite,onnxruntime
    local cargo=(--quiet --locked --release --lib --no-default-features --features "$features"
        --manifest-path "$root/Cargo.toml" --target-dir "$target")
    cargo clippy "${cargo[@]}" -- -D warnings
    # the helper of zb_model_preflight; before the libraries, which cargo makes anew for it
    cargo build --quiet --locked --release --package zerobind-preflight --no-default-features --features "$features" \
        --manifest-path "$root/Cargo.toml" --target-dir "$target"
    cargo rustc "${cargo[@]}" --crate-type cdylib,staticlib
}

# check_alone ENGINE LIBRARY SYMBOL MODEL OTHER_SYMBOL OTHER_MODEL: linked with one engine, the library needs that one's library and
# nothing of the other, runs its models, and says of the other's that it is not part of this build. Built in a way that is quick.
check_alone() {
    local engine=$1 undefined
    local cargo=(--quiet --locked --release --lib --no-default-features --features "linked,$engine"
        --config profile.release.lto=false --config profile.release.opt-level=0 --config profile.release.codegen-units=16
        --manifest-path "$root/Cargo.toml" --target-dir "$target")
    echo "== linked: $engine alone"
    cargo clippy "${cargo[@]}" -- -D warnings
    cargo rustc "${cargo[@]}" --crate-type cdylib
    readelf -dW "$library/libzerobind.so" | grep -q "NEEDED.*\[$2\]" || fail "libzerobind.so does not name $2"
    undefined=$(nm -D --undefined-only "$library/libzerobind.so")
    grep -q " U $3" <<<"$undefined" || fail "$3 is not asked for"
    ! grep -q "$5" <<<"$undefined" || fail "$5 is asked for by a library without that engine"
    check_contents
    "${CC:-cc}" "${warnings[@]}" -I "$root/include" "$root/examples/c/add.c" -L "$library" -l:libzerobind.so.0 \
        -Wl,--allow-shlib-undefined -o "$target/add_alone"
    local add=(env "LD_LIBRARY_PATH=$library:$engines" "$target/add_alone")
    [ "$("${add[@]}" "$root/.deps/models/$4" | tail -n 1)" = '20 21 22 23' ] || fail "add.c on $4"
    ! "${add[@]}" "$root/.deps/models/$6" >"$target/log" 2>&1 || fail "add.c ran $6"
    grep -F 'not part of this build' "$target/log" || fail "add.c on $6 does not say why not"
}

# The shared library names its engines, has what it needs of them as symbols, and what they may lack as weak ones.
check_symbols() {
    local dynamic undefined
    dynamic=$(readelf -dW "$library/libzerobind.so")
    for name in libtensorflowlite_c.so libonnxruntime.so.1; do
        grep -q "NEEDED.*\[$name\]" <<<"$dynamic" || fail "libzerobind.so does not name $name"
    done
    undefined=$(nm -D --undefined-only "$library/libzerobind.so")
    grep -q ' U OrtGetApiBase' <<<"$undefined" || fail "OrtGetApiBase is not asked for"
    grep -q ' U TfLiteInterpreterInvoke' <<<"$undefined" || fail "TfLiteInterpreterInvoke is not asked for"
    grep -q ' w TfLiteXNNPackDelegateCreate' <<<"$undefined" || fail "TfLiteXNNPackDelegateCreate is not weak"
    ! grep -q ' dlopen' <<<"$undefined" || fail "a linked library opens libraries"
    sh "$root/c-tests/check_library.sh" "$library/libzerobind.so" "$root/c-tests/symbols.txt" "$root/include/zerobind.h" \
        libzerobind.so.0
    echo "linked: libzerobind.so needs both engines; $(grep -c ' w TfLite' <<<"$undefined") functions may be missing"
}

check_contents() {
    compile_contents "$library" "$target/contents"
    LD_LIBRARY_PATH=$library:$engines "$target/contents"
    grep -q 'ZEROBIND_LINKED 1' "$library/zerobind_config.h" || fail "zerobind_config.h does not say linked"
}

# libzerobind.a in a program that brings the engines.
check_static_library() {
    "${CC:-cc}" "${warnings[@]}" -I "$root/include" "$root/examples/c/add.c" "$library/libzerobind.a" \
        -L "$engines" -ltensorflowlite_c -l:libonnxruntime.so.1 -lm -Wl,-rpath,"$engines" -o "$target/add"
    for model in add4.tflite add4.onnx; do
        [ "$("$target/add" "$root/.deps/models/$model" | tail -n 1)" = '20 21 22 23' ] || fail "add.c with libzerobind.a, $model"
    done
    echo "linked: a program with libzerobind.a runs both models"
}

# No shared library at all, and an engine without the functions that may be missing.
check_one_file() {
    "${CC:-cc}" "${warnings[@]}" -c "$root/c-tests/features/stubs.c" -o "$target/stubs.o"
    rm -f "$target/libstubs.a"
    ar rcs "$target/libstubs.a" "$target/stubs.o"
    "${CC:-cc}" "${warnings[@]}" -static -I "$root/include" "$root/c-tests/features/one_file.c" "$library/libzerobind.a" \
        "$target/libstubs.a" -lm -o "$target/one_file" 2>"$target/one_file.log" || { cat "$target/one_file.log"; return 1; }
    ! readelf -dW "$target/one_file" | grep -q NEEDED || fail "one_file needs a shared library"
    "$target/one_file"
}

# Not the tests on the mock engine, which have a library of their own; labels and names leave out what is about this one's file.
run_suite() {
    ZB_TEST_LINKED=1 LD_LIBRARY_PATH=$library:$engines "$root/.deps/venv/bin/ctest" --test-dir "$build" \
        --output-on-failure --no-tests=error --parallel "$(getconf _NPROCESSORS_ONLN)" \
        --tests-regex '^[a-z_]+\.(tflite|onnxruntime)$' --label-exclude 'memcheck|mock'
}

check_alone tflite libtensorflowlite_c.so TfLiteInterpreterInvoke add4.tflite OrtGetApiBase add4.onnx
check_alone onnxruntime libonnxruntime.so.1 OrtGetApiBase add4.onnx TfLite add4.tflite
build_library
check_symbols
check_contents
check_static_library
check_one_file
run_suite
