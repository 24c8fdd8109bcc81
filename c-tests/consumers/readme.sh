#!/bin/sh
# What the README says about using zerobind, done as it stands there, by somebody whose home is empty
# and has no spaces in its name, since plain commands are for such.
# TARGET_DIR is where the library was built already.
. "${0%/*}/common.sh"
need pkg-config
need make

# the toolchain and the crates stay those of the real home
export CARGO_HOME="${CARGO_HOME:-$HOME/.cargo}" RUSTUP_HOME="${RUSTUP_HOME:-$HOME/.rustup}"
[ -d "$RUSTUP_HOME" ] || unset RUSTUP_HOME
HOME=$(mktemp -d)
trap 'rm -rf "$HOME"' EXIT

# the blocks of the section, as 1.sh, 2.cmake, ...
mkdir "$SCRATCH/blocks"
awk -v folder="$SCRATCH/blocks" '
    /^## / { inside = /^## Use it from / }
    inside && /^```$/ { file = ""; next }
    inside && /^```/ { file = folder "/" ++count "." substr($0, 4); next }
    file != "" { print > file }
' "$SOURCE/README.md"
found=$(cd "$SCRATCH/blocks" && echo *)
[ "$found" = "1.sh 2.cmake 3.cmake 4.sh 5.cpp 6.sh 7.toml 8.rust" ] || fail "the README has other blocks than this test knows: $found"

# app NAME: a folder as the README sees it, with its C program and zerobind's sources
app() {
    mkdir -p "$HOME/$1/third_party"
    cp "$SOURCE/examples/c/add.c" "$HOME/$1"
    ln -s "$SOURCE" "$HOME/$1/third_party/zerobind"
    cd "$HOME/$1"
}

# adds PROGRAM: it says what the README's program says, on both engines
adds() {
    for engine in onnx tflite; do
        said=$("$1" "$ZB_TEST_MODELS/add4.$engine") || fail "$1 on $engine"
        [ "$said" = "10 11 12 13
20 21 22 23" ] || fail "$1 says '$said'"
    done
}

cd "$SOURCE"
says sh -e "$SCRATCH/blocks/1.sh"

app find_package
cp "$SCRATCH/blocks/2.cmake" CMakeLists.txt
says "$CMAKE" -S . -B build "-DCMAKE_PREFIX_PATH=$HOME/zerobind"
says "$CMAKE" --build build
adds build/add
ldd build/add | grep -qF "$HOME/zerobind/lib/libzerobind.so.0" ||
    fail "the program does not use the library in the README's PREFIX"

app FetchContent
cp "$SCRATCH/blocks/3.cmake" CMakeLists.txt
says "$CMAKE" -S . -B build "-DZEROBIND_TARGET_DIR=$TARGET_DIR"
says "$CMAKE" --build build
adds build/add

app pkg_config
says sh -e "$SCRATCH/blocks/4.sh"
adds ./add
adds ./add-static
uses_static ./add-static

app cpp
cp "$SCRATCH/blocks/5.cpp" add.cpp
says sh -e "$SCRATCH/blocks/6.sh"
for engine in onnx tflite; do
    said=$(./add-cpp "$ZB_TEST_MODELS/add4.$engine")
    [ "$said" = "10 11 12 13" ] || fail "the program in C++ says '$said' on $engine"
done
said=$(./add-cpp 2>&1) && fail "the program in C++ does without a model"
[ "$said" = "usage: add-cpp MODEL" ] || fail "the program in C++ says '$said' without a model"

app cargo
mkdir src
cp "$SCRATCH/blocks/7.toml" Cargo.toml
cp "$SCRATCH/blocks/8.rust" src/main.rs
# the crates that the library is built of are there, so nothing has to be fetched
cp "$SOURCE/Cargo.lock" .
export CARGO_TARGET_DIR="$SOURCE/target/readme" CARGO_PROFILE_DEV_DEBUG=0
says cargo build --offline
for engine in onnx tflite; do
    said=$("$CARGO_TARGET_DIR/debug/app" "$ZB_TEST_MODELS/add4.$engine")
    [ "$said" = "[11.0, 11.0, 11.0, 11.0]" ] || fail "the program in Rust says '$said' on $engine"
done
