#!/bin/sh
# Two static Rust libraries in one C program: in both orders, whole or only what is needed, by each linker that is installed,
# the other one made by each Rust toolchain that is installed.
# MOCK is zerobind's static library with the mock engine, which panics on demand.
. "${0%/*}/common.sh"

# compile_other NAME RUSTC...: the other library, if that is a toolchain that works and is new enough
compile_other() {
    name=$1
    shift
    version=$("$@" --version 2>/dev/null) || return 0
    # the same toolchain under another name
    if grep -qxF "$version" "$SCRATCH/versions"; then return 0; fi
    echo "$version" >>"$SCRATCH/versions"
    "$@" --edition 2021 --crate-type staticlib -O --crate-name other_rust "$consumers/other_rust.rs" \
        -o "$SCRATCH/$name.a" 2>"$SCRATCH/said" || {
        echo "not by $version: $(head -1 "$SCRATCH/said")"
        return 0
    }
    # debug information only takes the linkers' time
    says objcopy --strip-debug -R .llvmbc -R .llvmcmd "$SCRATCH/$name.a"
    others="$others $name"
    echo "the other library by $version"
}

others=
: >"$SCRATCH/versions"
compile_other own rustc
[ "$others" = " own" ] || fail "rustc does not compile the other library: $(cat "$SCRATCH/said")"
if command -v rustup >/dev/null; then
    for toolchain in $(rustup toolchain list | sed 's/ .*//' | grep -v "^$(rustup show active-toolchain | sed 's/ .*//')$"); do
        compile_other "$toolchain" rustup run "$toolchain" rustc
    done
fi
compile_other system /usr/bin/rustc
# another version for certain, where `make cross` has brought it
compile_other cross "$SOURCE/.deps/cross/rustc"

linkers=
for linker in bfd gold lld; do
    if command -v ld.$linker >/dev/null; then linkers="$linkers $linker"; fi
done
echo "linkers:$linkers"

# link_and_run NAME ARGUMENT FLAGS...
link_and_run() {
    argument=$2
    program=$SCRATCH/$1
    shift 2
    says "$CC" -std=c99 "-I$TREE/include" "$SCRATCH/two_rust.o" "$@" -lm -ldl -lpthread -lrt -o "$program"
    says "$program" $argument
    rm -f "$program"
}

says "$CC" -std=c99 $warnings "-I$TREE/include" -c "$consumers/two_rust.c" -o "$SCRATCH/two_rust.o"
count=0
for other in $others; do
    o=$SCRATCH/$other.a
    for linker in $linkers; do
        flags=-fuse-ld=$linker
        link_and_run "zerobind first" mock $flags "$MOCK" "$o"
        link_and_run "other first" mock $flags "$o" "$MOCK"
        link_and_run "whole, zerobind first" mock $flags -Wl,--whole-archive "$MOCK" "$o" -Wl,--no-whole-archive
        link_and_run "whole, other first" mock $flags -Wl,--whole-archive "$o" "$MOCK" -Wl,--no-whole-archive
        count=$((count + 4))
    done
    # and what is shipped, which has no panic to show
    link_and_run "shipped" '' "$TREE/lib/libzerobind.a" "$o"
    link_and_run "whole, shipped" '' -Wl,--whole-archive "$o" "$TREE/lib/libzerobind.a" -Wl,--no-whole-archive
    count=$((count + 2))
    # without the treatment the same does not link: this is what it is for
    if "$CC" -std=c99 "-I$TREE/include" "$SCRATCH/two_rust.o" -Wl,--whole-archive "$CARGO_ARCHIVE" "$o" -Wl,--no-whole-archive \
        -lm -ldl -lpthread -lrt -o "$SCRATCH/untreated" >/dev/null 2>&1; then
        fail "cargo's own archive links with $other.a: this test does not see what it is for"
    fi
done
echo "$count programs linked and run"
