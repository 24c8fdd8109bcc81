#!/usr/bin/env bash
# check.sh: what can be checked of the packaging scripts without the platforms they are for: that they print the commands
# that they would run, in an order that works, and refuse what they cannot do. Nothing of it is run.
# The same of what the set-up would install on a machine that has nothing yet.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
    echo "failed: $1" >&2
    exit 1
}

# says FILE PATTERN...: each is a line of the file, in this order.
says() {
    local file=$1 from=0 found
    shift
    for pattern in "$@"; do
        found=$(tail -n "+$((from + 1))" "$file" | grep -nE -- "$pattern" | head -n 1 | cut -d: -f1 || true)
        [ -n "$found" ] || { cat "$file"; fail "no '$pattern' after line $from"; }
        from=$((from + found))
    done
}

# refuses TEXT COMMAND...
refuses() {
    local text=$1
    shift
    if "$@" >"$scratch/log" 2>&1; then
        fail "'$*' is not refused"
    fi
    grep -qF -- "$text" "$scratch/log" || { cat "$scratch/log"; fail "'$*' does not say '$text'"; }
}

check_xcframework() {
    local script=$root/packaging/xcframework.sh
    bash "$script" --dry-run --tflite /tf --onnxruntime /ort "$scratch/out" >"$scratch/log"
    says "$scratch/log" \
        'TFLITEC_PREBUILT_PATH_AARCH64_APPLE_IOS=/tf/.*/ios-arm64/TensorFlowLiteC.framework .*ORT_IOS_XCFWK_LOCATION=/ort/.* cargo rustc .*--target aarch64-apple-ios .*--features linked.{1,2}tflite' \
        '--target aarch64-apple-ios-sim ' '--target x86_64-apple-ios ' \
        'lipo -create .*/aarch64-apple-ios-sim/release/libzerobind.a .*/x86_64-apple-ios/release/libzerobind.a' \
        'cp .*/include/zerobind.h ' 'cp .*/zerobind_config.h ' \
        'xcodebuild -create-xcframework .*/aarch64-apple-ios/release/libzerobind.a .*-output .*/out/Zerobind.xcframework'
    bash "$script" --dry-run --engines onnxruntime --onnxruntime /ort "$scratch/out" >"$scratch/log"
    ! grep -q 'TFLITE' "$scratch/log" || fail 'TFLite is asked for without its feature'
    [ ! -e "$scratch/out" ] || fail 'a dry run writes'
    refuses 'give --tflite' bash "$script" --dry-run --onnxruntime /ort "$scratch/out"
    refuses "not 'litert'" bash "$script" --dry-run --engines litert "$scratch/out"
    refuses 'name the folder' bash "$script" --dry-run
}

check_android() {
    local script=$root/packaging/android-aar.sh ndk=$scratch/ndk
    mkdir -p "$ndk/toolchains/llvm/prebuilt/linux-x86_64/bin" "$scratch/engines/arm64-v8a"
    touch "$scratch/engines/arm64-v8a/libonnxruntime.so"
    ANDROID_NDK_HOME=$ndk bash "$script" --dry-run --engines-dir "$scratch/engines" "$scratch/zerobind.aar" >"$scratch/log"
    says "$scratch/log" \
        'CARGO_TARGET_AARCH64_LINUX_ANDROID_LINKER=.*/aarch64-linux-android24-clang .*cargo rustc .*--target aarch64-linux-android ' \
        'llvm-strip .*android.arm64-v8a/libzerobind.so' 'cp .*/arm64-v8a/libonnxruntime.so .*/jni/arm64-v8a/' \
        'LINKER=.*/armv7a-linux-androideabi24-clang' 'LINKER=.*/x86_64-linux-android24-clang' \
        'prefab.json' 'module.json' 'zip .*zerobind.aar'
    [ ! -e "$scratch/zerobind.aar" ] || fail 'a dry run writes'
    refuses 'set ANDROID_NDK_HOME' env -u ANDROID_NDK_HOME bash "$script" --dry-run a.aar
    refuses 'OUTPUT.aar' env "ANDROID_NDK_HOME=$ndk" bash "$script" --dry-run a.zip
    refuses 'takes a number' env "ANDROID_NDK_HOME=$ndk" bash "$script" --dry-run --api new a.aar
}

# A machine has everything after its first set-up, so what happens when nothing is there would be seen on no second one.
check_system_packages() {
    local bare=$scratch/bare program
    mkdir -p "$bare"
    for program in bash cut uname; do
        ln -s "$(command -v "$program")" "$bare/$program"
    done
    env "PATH=$bare" bash "$root/scripts/system_packages.sh" --list i686-linux-gnu-gcc >"$scratch/log"
    says "$scratch/log" python3-venv gcc 'g\+\+' clang valgrind 'libclang-rt-[0-9]+-dev' lld pkgconf abigail-tools libssl-dev shellcheck \
        gcc-i686-linux-gnu libc6-dev-i386-cross
}

check_shell() {
    if ! command -v shellcheck >/dev/null; then
        echo 'packaging-check: shellcheck is skipped, it is not installed'
        [ -z "${CI:-}" ] || fail 'shellcheck is missing'
        return
    fi
    (cd "$root" && shellcheck -x packaging/{commands,xcframework,android-aar,check}.sh scripts/{cross_toolchain,system_packages}.sh \
        c-tests/{features,linked,cross,cross_check}.sh)
}

check_shell
check_system_packages
check_xcframework
check_android
echo 'packaging: the commands of xcframework.sh and android-aar.sh are as meant; neither was run'
