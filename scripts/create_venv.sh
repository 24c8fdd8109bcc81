#!/usr/bin/env bash
# create_venv.sh DIRECTORY: a virtual environment with exactly the wheels of requirements.txt.
set -euo pipefail

venv=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# onnxruntime's wheels set the floor
find_python() {
    local candidate
    for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
        if "$candidate" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo 'set-up: needs Python 3.11 or newer with the venv module (Debian: python3-venv)' >&2
    return 1
}

python=$(find_python)
rm -rf "$venv"
"$python" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --no-deps --require-hashes --only-binary=:all: \
    -r "$here/requirements.txt"
