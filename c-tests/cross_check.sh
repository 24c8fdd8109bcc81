#!/usr/bin/env bash
# cross_check.sh TRIPLE...: the types of zerobind for targets whose linker and system libraries are not here. Nothing is
# linked or run, so this finds what does not compile there and no more. Engines found at run time, since tflitec's build
# script asks for an engine; std is built from Debian's sources of it.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
export RUSTC=$root/.deps/cross/rustc RUSTC_BOOTSTRAP=1
for triple in "$@"; do
    began=$SECONDS
    cargo check --quiet --locked --lib --manifest-path "$root/Cargo.toml" --target "$triple" \
        --target-dir "$root/target/cross" "-Zbuild-std=std,panic_unwind"
    echo "$triple: type-checked in $((SECONDS - began)) s"
done
