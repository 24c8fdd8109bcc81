#!/bin/sh
# static_library.sh ARCHIVE SYMBOLS OUTPUT: makes the static library that is shipped out of the one that cargo builds.
#
# cargo's archive carries the whole Rust runtime with global names, so a second Rust library in the same program collides
# with it (`rust_eh_personality` is defined twice, always, when they are of different toolchains). Here everything becomes
# one object in which only the functions listed in SYMBOLS are seen from outside.
#
# Writes OUTPUT without debug information, and DIR/debug/NAME beside it, the same library with it.
# The tools are GNU binutils': LD, OBJCOPY, AR, READELF say others of them (for cross builds).
set -eu

archive=$1
symbols=$2
output=$3
ld=${LD:-ld}
objcopy=${OBJCOPY:-objcopy}
ar=${AR:-ar}
readelf=${READELF:-readelf}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
    echo "static_library.sh: $1" >&2
    exit 1
}

[ -f "$archive" ] || fail "there is no $archive: build it first (cargo rustc --release --lib --crate-type staticlib)"
[ -s "$symbols" ] || fail "no symbols are listed in $symbols"

# What is not reached from the listed functions is dropped here, and the rest stays in sections of its own, so that the
# program's linker can drop more. Groups are resolved now: one that is kept would be taken for the equal one of another
# Rust library, although its symbols are local from now on (DW.ref.rust_eh_personality is such a group).
"$ld" -r --gc-sections --force-group-allocation $(sed 's/^/-u /' "$symbols") "$archive" -o "$scratch/all.o" ||
    fail "$ld cannot link $archive partially; GNU ld is needed (LD says which)"

mkdir "$scratch/debug"
# .llvmbc and .llvmcmd are LLVM's intermediate code of the standard library, on which other versions of its tools choke
"$objcopy" --wildcard --keep-global-symbol='zb_*' -R .llvmbc -R .llvmcmd "$scratch/all.o" "$scratch/hidden.o"
# GNU ld leaves the names behind that only dropped code wanted, and weak ones, which need not exist, as if they had to
"$readelf" -rW "$scratch/hidden.o" | awk 'NF >= 5 { print $5 }' | LC_ALL=C sort -u >"$scratch/used"
"$readelf" -sW "$scratch/hidden.o" | awk '$5 == "GLOBAL" && $7 == "UND" { print $8 }' | LC_ALL=C sort -u |
    LC_ALL=C comm -23 - "$scratch/used" >"$scratch/unused"
cp "$scratch/hidden.o" "$scratch/debug/zerobind.o"
if [ -s "$scratch/unused" ]; then "$objcopy" --strip-symbols="$scratch/unused" "$scratch/debug/zerobind.o"; fi
"$objcopy" --strip-debug "$scratch/debug/zerobind.o" "$scratch/zerobind.o"

directory=$(dirname "$output")
mkdir -p "$directory/debug"
rm -f "$output" "$directory/debug/$(basename "$output")"
"$ar" rcsD "$output" "$scratch/zerobind.o"
"$ar" rcsD "$directory/debug/$(basename "$output")" "$scratch/debug/zerobind.o"
