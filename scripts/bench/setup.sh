#!/usr/bin/env bash
# setup.sh [--peers]: what only the benchmark needs, into .deps: its models, and with --peers the runtimes that others make.
# Run after scripts/setup.sh. Safe to run again, quick the second time.
set -euo pipefail

scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
deps=$(cd "$scripts/../.deps" && pwd -P)
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1

. "$scripts/steps.sh"

main() {
    lock_once
    step bench-packages "$scripts"/{unpack_wheels.py,fresh_folder.py,bench-requirements.txt} -- \
        unpack bench-requirements.txt bench-packages
    step bench-models "$scripts"/bench/models.py "$scripts"/models/{onnx_writer,tflite_writer}.py -- \
        python bench/models.py "$deps" "$deps/bench"
    if [ "${1:-}" = --peers ]; then
        previous_stamp=
        step peer-packages "$scripts"/{unpack_wheels.py,fresh_folder.py,peer-requirements.txt} -- \
            unpack peer-requirements.txt peer-packages
    fi
}

# A package without a wheel for this system costs its cases only: they are skipped, and say so.
unpack() {
    python unpack_wheels.py "$1" "$deps/$2" || {
        echo "set-up: $1 cannot be had for this system; what needs it is skipped"
        mkdir -p "$deps/$2"
    }
}

python() {
    local script=$1
    shift
    (cd "$scripts" && PYTHONPATH="$scripts:$scripts/models" "$deps/venv/bin/python" "$script" "$@")
}

main "$@"
