#!/bin/sh
# The consumers by pkg-config, as a makefile would: shared, static, and with nothing shared at all.
. "${0%/*}/common.sh"
need pkg-config

export PKG_CONFIG_PATH="$TREE/lib/pkgconfig"
for package in zerobind zerobind-static; do
    [ "$(pkg-config --modversion $package)" = "$VERSION" ] || fail "$package is not of version $VERSION"
    pkg-config --exists "$package >= 0.1" || fail "$package does not serve 0.1"
    if pkg-config --exists "$package >= 9"; then fail "$package serves 9"; fi
done

# compile NAME FLAGS...: paths with spaces come quoted from pkg-config, so the shell reads the line again
compile() {
    name=$1
    shift
    eval "says '$CC' $warnings '-DPACKAGE_VERSION=\"$VERSION\"' '$consumers/sum.c' -o '$SCRATCH/$name' $*"
}

shared="$(pkg-config --cflags --libs zerobind) '-Wl,-rpath,$TREE/lib'"
static=$(pkg-config --cflags --libs zerobind-static)
for standard in c99 c11 c17 c2x; do
    compile $standard.shared -std=$standard "$shared"
    uses_shared "$SCRATCH/$standard.shared"
    run_on_engines "$SCRATCH/$standard.shared"
done
for form in -pie -no-pie; do
    compile static$form -std=c99 $form "$static"
    uses_static "$SCRATCH/static$form"
    run_on_engines "$SCRATCH/static$form"
done

# -lzerobind, where there is no shared library to be had; a program without a loader is told that it cannot open engines
for form in -static -static-pie; do
    compile all$form -std=c99 -w $form "$(pkg-config --static --cflags --libs zerobind)"
    if readelf -dW "$SCRATCH/all$form" | grep -q NEEDED; then fail "$form needs a shared library"; fi
    says "$SCRATCH/all$form"
    for model in add4.onnx add4.tflite; do
        if "$SCRATCH/all$form" "$ZB_TEST_MODELS/$model" >"$SCRATCH/said" 2>&1; then fail "$form opened an engine"; fi
        grep -q '^failed: ZB_ERROR_RUNTIME_UNAVAILABLE: .*without a dynamic loader' "$SCRATCH/said" ||
            fail "$form is not told why it cannot open an engine: $(cat "$SCRATCH/said")"
    done
done
