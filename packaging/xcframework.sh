#!/usr/bin/env bash
# xcframework.sh [--dry-run] [--engines tflite,onnxruntime] [--tflite DIR] [--onnxruntime DIR] OUTPUT
# Zerobind.xcframework for iOS devices and simulators: a static library with the engines linked by the app, headers and a
# clang module. OUTPUT is the folder that it is put into.
#   --tflite       folder of TensorFlowLiteC.xcframework
#   --onnxruntime  folder of onnxruntime.xcframework
#   --dry-run      print the commands and run none
#
# NOT RUN: this was written without a Mac. Its commands are printed and checked in `make packaging-check`; the Rust code is
# type-checked for aarch64-apple-ios (docs/targets.md), never linked or run there.
# It needs Xcode, and `rustup target add aarch64-apple-ios aarch64-apple-ios-sim x86_64-apple-ios`.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/packaging/commands.sh"

dry_run=no engines=tflite,onnxruntime tflite='' onnxruntime='' output=''
while [ $# -gt 0 ]; do
    case $1 in
    --dry-run) dry_run=yes ;;
    --engines) engines=${2:?}; shift ;;
    --tflite) tflite=${2:?}; shift ;;
    --onnxruntime) onnxruntime=${2:?}; shift ;;
    -*) fail "what is $1?" ;;
    *) output=$1 ;;
    esac
    shift
done
[ -n "$output" ] || fail 'name the folder that Zerobind.xcframework is put into'
check_engines "$engines"
! has_engine "$engines" tflite || [ -n "$tflite" ] || fail 'give --tflite, the folder of TensorFlowLiteC.xcframework'
! has_engine "$engines" onnxruntime || [ -n "$onnxruntime" ] || fail 'give --onnxruntime, the folder of onnxruntime.xcframework'
require xcodebuild 'install Xcode'
require lipo 'install Xcode'

target=$root/target/xcframework
device=aarch64-apple-ios
simulators=(aarch64-apple-ios-sim x86_64-apple-ios)

# slice_of TRIPLE: the folder of an xcframework that holds its library.
slice_of() {
    if [ "$1" = "$device" ]; then echo ios-arm64; else echo ios-arm64_x86_64-simulator; fi
}

build() {
    local triple=$1 settings=()
    if has_engine "$engines" tflite; then
        # also for its headers: without them the build script of tflitec downloads its own
        settings+=("TFLITEC_PREBUILT_PATH_$(variable_of "$triple")=$tflite/TensorFlowLiteC.xcframework/$(slice_of "$triple")/TensorFlowLiteC.framework"
            "TFLITEC_HEADER_DIR=$root/linked/headers")
    fi
    if has_engine "$engines" onnxruntime; then
        settings+=("ORT_IOS_XCFWK_LOCATION=$onnxruntime/onnxruntime.xcframework")
    fi
    # rustc, to make the static library alone: the app links the engines' frameworks
    run env "${settings[@]}" cargo rustc --release --locked --lib --crate-type staticlib --target "$triple" \
        --no-default-features --features "linked,$engines" --manifest-path "$root/Cargo.toml" --target-dir "$target"
}

stage_headers() {
    run rm -rf "$target/headers"
    run mkdir -p "$target/headers"
    for header in zerobind.h zerobind.hpp module.modulemap; do
        if [ -e "$root/include/$header" ]; then
            run cp "$root/include/$header" "$target/headers/"
        fi
    done
    run cp "$target/$device/release/zerobind_config.h" "$target/headers/"
}

for triple in "$device" "${simulators[@]}"; do
    build "$triple"
done
run mkdir -p "$target/simulator"
archives=("${simulators[@]/#/$target/}")
run lipo -create "${archives[@]/%//release/libzerobind.a}" -output "$target/simulator/libzerobind.a"
stage_headers
run rm -rf "$output/Zerobind.xcframework"
run xcodebuild -create-xcframework \
    -library "$target/$device/release/libzerobind.a" -headers "$target/headers" \
    -library "$target/simulator/libzerobind.a" -headers "$target/headers" \
    -output "$output/Zerobind.xcframework"
