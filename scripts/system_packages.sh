#!/usr/bin/env bash
# system_packages.sh [--list] [PROGRAM...]: what the set-up needs, and of these programs for `make cross` those that are missing.
# With --list it names the packages that are missing, and installs nothing.
# Installs what no PyPI package brings, where that is possible: Debian or Ubuntu, as root.
# Elsewhere it only says what is missing; the lanes that need it then say that they are skipped.
set -euo pipefail

list=
[ "${1:-}" != --list ] || { list=yes; shift; }
missing=()
# `ensurepip` is what Debian splits from Python: without it `python3 -m venv` fails
python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
command -v cc >/dev/null || missing+=(gcc libc6-dev)
command -v c++ >/dev/null || missing+=(g++)
# a second compiler for the C tests and the header, and the checker of the memory lane
command -v clang >/dev/null || missing+=(clang)
command -v valgrind >/dev/null || missing+=(valgrind)
# libFuzzer, for `make fuzz`; the package of the clang that is or will be installed (14 on Debian 12)
clang_major=$(clang -dumpversion 2>/dev/null | cut -d. -f1) || clang_major=
[ -f "$(clang --print-file-name="libclang_rt.fuzzer-$(uname -m).a" 2>/dev/null)" ] || missing+=("libclang-rt-${clang_major:-14}-dev")
# links the WebAssembly guest in C of examples/wasm
command -v wasm-ld >/dev/null || missing+=(lld)
# what other people's builds use, and the reader of the ABI
command -v pkg-config >/dev/null || missing+=(pkgconf)
command -v abidiff >/dev/null || missing+=(abigail-tools)
# the build script of tflitec, for the linked mode, fetches by libcurl: it is built with OpenSSL, which pkg-config finds
pkg-config --exists openssl 2>/dev/null || missing+=(libssl-dev)
# the scripts for iOS and Android are not run here, only read
command -v shellcheck >/dev/null || missing+=(shellcheck)
# only for `make cross`, which names them
for program in "$@"; do
    command -v "$program" >/dev/null && continue
    case $program in
    qemu-aarch64) missing+=(qemu-user) ;;
    *-gcc) missing+=("gcc-${program%-gcc}" "libc6-dev-$(case $program in aarch64*) echo arm64 ;; *) echo i386 ;; esac)-cross") ;;
    esac
done

if [ "$list" ]; then
    [ ${#missing[@]} -eq 0 ] || printf '%s\n' "${missing[@]}"
    exit 0
fi
if [ ${#missing[@]} -eq 0 ]; then
    exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
else
    printf 'set-up: not installed here (no root or no apt-get): %s\n' "${missing[*]}" >&2
fi
