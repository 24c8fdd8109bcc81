#!/usr/bin/env bash
# android-aar.sh [--dry-run] [--api LEVEL] [--engines-dir DIR] OUTPUT.aar
# An Android archive: libzerobind.so for each processor with its headers as a prefab package, so that Gradle gives it to
# CMake (`find_package(zerobind CONFIG)`), and the shared libraries of the engines beside it, where zerobind finds them.
#   --api          the lowest Android API level; 24 by default, the lowest with all that is used of its C library
#   --engines-dir  ABI/libtensorflowlite_c.so and ABI/libonnxruntime.so in it are packed too
#   --dry-run      print the commands and run none
#
# NOT RUN: this was written without the Android NDK. Its commands are printed and checked in `make packaging-check`; the
# Rust code is type-checked for aarch64-linux-android (docs/targets.md), never linked or run there.
# It needs ANDROID_NDK_HOME, zip, and `rustup target add aarch64-linux-android armv7-linux-androideabi x86_64-linux-android`.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/packaging/commands.sh"

dry_run=no api=24 engines_dir='' output=''
while [ $# -gt 0 ]; do
    case $1 in
    --dry-run) dry_run=yes ;;
    --api) api=${2:?}; shift ;;
    --engines-dir) engines_dir=${2:?}; shift ;;
    -*) fail "what is $1?" ;;
    *) output=$1 ;;
    esac
    shift
done
[[ "$output" == *.aar ]] || fail 'name the archive to write, OUTPUT.aar'
[[ "$api" =~ ^[0-9]+$ ]] || fail "--api takes a number, not '$api'"
[ -n "${ANDROID_NDK_HOME:-}" ] || fail 'set ANDROID_NDK_HOME to the folder of the NDK'
require zip 'it packs the archive'

version=$(sed -n 's/^version *= *"\([0-9.]*\)".*/\1/p' "$root/Cargo.toml" | head -n 1)
target=$root/target/android
stage=$target/aar
module=$stage/prefab/modules/zerobind
bin=$(echo "$ANDROID_NDK_HOME"/toolchains/llvm/prebuilt/*/bin)

# Android's name of a processor, and the start of its compiler's name, for a Rust target.
abi_of() {
    case $1 in
    aarch64-*) echo arm64-v8a ;;
    armv7-*) echo armeabi-v7a ;;
    x86_64-*) echo x86_64 ;;
    esac
}

compiler_of() {
    case $1 in
    armv7-*) echo "$bin/armv7a-linux-androideabi$api-clang" ;;
    *) echo "$bin/$1$api-clang" ;;
    esac
}

# write FILE TEXT
write() {
    run mkdir -p "$(dirname "$1")"
    run bash -c "printf '%s\\n' \"\$1\" >\"\$2\"" write "$2" "$1"
}

build() {
    local triple=$1 abi library
    abi=$(abi_of "$triple")
    library=$module/libs/android.$abi
    # pages of 16 KiB are asked for since Android 15
    run env "CARGO_TARGET_$(variable_of "$triple")_LINKER=$(compiler_of "$triple")" \
        "CARGO_TARGET_$(variable_of "$triple")_RUSTFLAGS=-Clink-arg=-Wl,-z,max-page-size=16384" \
        cargo rustc --release --locked --lib --crate-type cdylib --target "$triple" \
        --manifest-path "$root/Cargo.toml" --target-dir "$target"
    run mkdir -p "$library" "$stage/jni/$abi"
    run "$bin/llvm-strip" --strip-unneeded -o "$library/libzerobind.so" "$target/$triple/release/libzerobind.so"
    run cp "$library/libzerobind.so" "$stage/jni/$abi/"
    write "$library/abi.json" "{\"abi\":\"$abi\",\"api\":$api,\"ndk\":26,\"stl\":\"none\",\"static\":false}"
    for engine in libtensorflowlite_c.so libonnxruntime.so; do
        if [ -n "$engines_dir" ] && [ -e "$engines_dir/$abi/$engine" ]; then
            run cp "$engines_dir/$abi/$engine" "$stage/jni/$abi/"
        fi
    done
}

stage_headers() {
    run mkdir -p "$module/include"
    for header in zerobind.h zerobind.hpp; do
        if [ -e "$root/include/$header" ]; then
            run cp "$root/include/$header" "$module/include/"
        fi
    done
    run cp "$target/aarch64-linux-android/release/zerobind_config.h" "$module/include/"
}

run rm -rf "$stage"
for triple in aarch64-linux-android armv7-linux-androideabi x86_64-linux-android; do
    build "$triple"
done
stage_headers
write "$stage/AndroidManifest.xml" \
    "<manifest xmlns:android=\"http://schemas.android.com/apk/res/android\" package=\"dev.zerobind\"><uses-sdk android:minSdkVersion=\"$api\"/></manifest>"
write "$stage/prefab/prefab.json" "{\"schema_version\":2,\"name\":\"zerobind\",\"version\":\"$version\",\"dependencies\":[]}"
write "$module/module.json" '{"export_libraries":[],"library_name":"libzerobind"}'
# the build tools ask for one, empty as it is
write "$stage/R.txt" ''
run rm -f "$output"
run bash -c "cd \"\$1\" && zip -q -r \"\$2\" ." zip "$stage" "$(cd "$(dirname "$output")" && pwd)/$(basename "$output")"
