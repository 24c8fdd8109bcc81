#!/bin/sh
# Trying models with the installed tree after it was moved: the shared library finds the helper, a program with the static one is
# told where it is, by pkg-config or by the variable, or has it next to itself.
. "${0%/*}/common.sh"
need pkg-config

export PKG_CONFIG_PATH="$TREE/lib/pkgconfig"
unset ZEROBIND_PREFLIGHT
# a path with spaces comes quoted from pkg-config
eval "helper=$(pkg-config --variable=preflight zerobind-static)"
[ -x "$helper" ] || fail "pkg-config names '$helper' as the helper"
[ "$helper" -ef "$TREE/libexec/zerobind/zerobind-preflight" ] || fail "pkg-config names another helper: $helper"
says "$helper" --version
grep -q "^zerobind-preflight $VERSION " "$SCRATCH/said" || fail "the helper is of another version: $(cat "$SCRATCH/said")"
for folder in "$SOURCE" "${CARGO_HOME:-$HOME/.cargo}"; do
    if grep -qF "$folder" "$helper"; then fail "$helper has the path $folder in it"; fi
done
echo "helper, stripped: $(wc -c <"$helper") bytes"

# build OUTPUT FLAGS...: paths with spaces come quoted from pkg-config, so the shell reads the line again
build() {
    output=$1
    shift
    eval "says '$CC' -std=c99 $warnings '$SOURCE/examples/c/preflight.c' -o '$SCRATCH/$output' $*"
}
build shared "$(pkg-config --cflags --libs zerobind) '-Wl,-rpath,$TREE/lib'"
build static "$(pkg-config --cflags --libs zerobind-static)"
uses_shared "$SCRATCH/shared"
uses_static "$SCRATCH/static"

run_on_engines "$SCRATCH/shared"
if "$SCRATCH/static" "$ZB_TEST_MODELS/add4.onnx" >"$SCRATCH/said" 2>&1; then fail "the static program finds a helper"; fi
grep -q "zerobind-preflight.*was not found. Tried: $SCRATCH/zerobind-preflight" "$SCRATCH/said" ||
    fail "the static program is not told what it lacks: $(cat "$SCRATCH/said")"
says env "ZEROBIND_PREFLIGHT=$helper" "$SCRATCH/static" "$ZB_TEST_MODELS/add4.onnx" "$ZB_TEST_MODELS/add4.tflite"

# an app's own folder, with everything in it and nothing in the environment
mkdir -p "$SCRATCH/app/bin" "$SCRATCH/app/libexec/zerobind"
cp "$SCRATCH/static" "$SCRATCH/app/bin/program"
cp "$helper" "$SCRATCH/app/libexec/zerobind/"
ln -s "$ZEROBIND_TFLITE_LIB" "$SCRATCH/app/bin/libtensorflowlite_c.so"
ln -s "$ZEROBIND_ONNXRUNTIME_LIB" "$SCRATCH/app/bin/libonnxruntime.so"
unset ZEROBIND_TFLITE_LIB ZEROBIND_ONNXRUNTIME_LIB
cd /
run_on_engines "$SCRATCH/app/bin/program"
cp "$helper" "$SCRATCH/app/bin/"
rm -r "$SCRATCH/app/libexec"
run_on_engines "$SCRATCH/app/bin/program"

# the command, which lies in bin
says "$TREE/bin/zerobind" --version
if "$TREE/bin/zerobind" check "$ZB_TEST_MODELS/add4.onnx" >"$SCRATCH/said" 2>&1; then fail "there is an engine in $TREE"; fi
grep -q "before the model was touched" "$SCRATCH/said" || fail "the command does not find its helper: $(cat "$SCRATCH/said")"
