#!/usr/bin/env bash
# wasmtime.sh SCRIPTS PYTHON DIRECTORY: wasmtime's C API for examples/wasm, see place_wasmtime.py.
# Everything else works without it. So where it cannot be had (no wheel for this system, no network) it is left out aloud,
# and the tests of examples/wasm say that they are skipped; in CI it is a failure.
set -euo pipefail

cd "$1"
if PYTHONPATH=$1 "$2" place_wasmtime.py wasm-requirements.txt "$3"; then
    exit 0
fi
rm -rf "$3" "$3.new"
echo 'set-up: wasmtime could not be had (see above): examples/wasm is left out' >&2
[ -z "${CI:-}" ]
