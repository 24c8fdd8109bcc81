# Sourced by the scripts of this folder.
# CTest gives CMAKE, NINJA, CC, CXX, SOURCE (the project), TREE (the installed tree after it was moved), SCRATCH (a folder of
# the test's own) and VERSION; and the engines and models as to every test.
set -eu
export LC_ALL=C

fail() {
    echo "failed: $*" >&2
    exit 1
}

# need PROGRAM: without it the test is skipped aloud; in CI, where the set-up installs it, that is a failure.
need() {
    command -v "$1" >/dev/null && return
    echo "skipped: $1 is not installed"
    [ -z "${CI:-}" ] || exit 1
    exit 77
}

# says COMMAND...: runs it, keeps its words in $SCRATCH/said, shows them when it fails
says() {
    "$@" >"$SCRATCH/said" 2>&1 || {
        cat "$SCRATCH/said" >&2
        fail "$*"
    }
}

# the program runs on both engines
run_on_engines() {
    says "$1" "$ZB_TEST_MODELS/add4.onnx" "$ZB_TEST_MODELS/add4.tflite"
}

# the program takes the shared library out of the moved tree / has the library in itself
uses_shared() {
    ldd "$1" | grep -qF "libzerobind.so.0 => $TREE/lib/" || fail "$1 does not use the library of $TREE: $(ldd "$1")"
}

uses_static() {
    if readelf -dW "$1" | grep -q 'NEEDED.*zerobind'; then
        fail "$1 needs the shared library"
    fi
}

warnings='-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Werror'
consumers=$SOURCE/c-tests/consumers
rm -rf "$SCRATCH"
mkdir -p "$SCRATCH"
