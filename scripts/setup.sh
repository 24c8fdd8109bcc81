#!/usr/bin/env bash
# Brings everything that the build, the tests and the demo need into .deps/: tools, engines, models,
# reference data and the recording. Safe to run again: a step whose inputs did not change is skipped.
# setup.sh --for-demo leaves out what only the conformance tests need.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
scripts=$root/scripts
mkdir -p "$root/.deps"
# The virtual environment's programs hold its absolute path, so where .deps really lies is an input too.
deps=$(cd "$root/.deps" && pwd -P)
venv=$deps/venv
# no writing of __pycache__ into the work tree
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1

. "$scripts/steps.sh"

main() {
    lock_once
    step system "$scripts/system_packages.sh" -- bash "$scripts/system_packages.sh"
    step venv "$scripts"/{create_venv.sh,requirements.txt} -- bash "$scripts/create_venv.sh" "$venv"
    step packages "$scripts"/{unpack_wheels.py,fresh_folder.py,data-requirements.txt} -- \
        python unpack_wheels.py data-requirements.txt "$deps/packages"
    step engines "$scripts/place_engines.py" -- python place_engines.py "$deps"
    step models "$scripts"/models/*.py "$scripts/fresh_folder.py" -- python models/generate.py "$deps"
    step audio "$scripts/convert_recording.py" -- python convert_recording.py "$deps"
    step reference "$scripts"/reference/*.py "$scripts/fresh_folder.py" -- python reference/generate.py "$deps"
    step wasmtime "$scripts"/{wasmtime.sh,place_wasmtime.py,unpack_wheels.py,wasm-requirements.txt} -- \
        bash "$scripts/wasmtime.sh" "$scripts" "$venv/bin/python" "$deps/wasmtime"
    # left out: to be tried again the next time
    [ -d "$deps/wasmtime/include" ] || rm -f "$deps/stamp-wasmtime"
    [ "${1:-}" = --for-demo ] || conformance
}

# Tests and models of others, of which only what is needed is kept.
conformance() {
    # these need no other step to be repeated
    previous_stamp=
    step mediapipe "$scripts"/{unpack_wheels.py,fresh_folder.py,bench-requirements.txt} -- mediapipe
    step conformance "$scripts"/{conformance/prepare.py,models/real.py,unpack_wheels.py,fresh_folder.py} \
        "$scripts"/{conformance-,data-,}requirements.txt -- python conformance/prepare.py "$deps" "$OLDER_PYTHON"
    # left out: to be tried again the next time
    [ -d "$deps/mediapipe/mediapipe" ] || rm -f "$deps"/stamp-{mediapipe,conformance}
}

# the last version of Python that these packages have wheels for; of the files that are wanted, all have the same
OLDER_PYTHON=3.12

# The package that the benchmark has a model of too. Some systems have no wheel of it: that costs its models only.
mediapipe() {
    python unpack_wheels.py --python "$OLDER_PYTHON" bench-requirements.txt "$deps/mediapipe" '*.tflite' '*/LICENSE*' || {
        echo 'set-up: mediapipe cannot be had for this system; its models are left out of the conformance tests'
        mkdir -p "$deps/mediapipe"
    }
}

python() {
    local script=$1
    shift
    (cd "$scripts" && PYTHONPATH="$scripts:$scripts/models" "$venv/bin/python" "$script" "$@")
}

main "$@"
