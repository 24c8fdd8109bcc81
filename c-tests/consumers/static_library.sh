#!/bin/sh
# The installed libraries from outside: what the static one shows to the linker, their sizes, their debug information.
. "${0%/*}/common.sh"

archive=$TREE/lib/libzerobind.a
shared=$TREE/lib/libzerobind.so.$VERSION

# global names are the functions of the ABI and nothing else; what is wanted from outside is nothing of Rust's
for file in "$archive" "$TREE/lib/debug/libzerobind.a"; do
    nm --defined-only --extern-only "$file" | awk 'NF == 3 { print $3 }' | sort >"$SCRATCH/global"
    sort "$SOURCE/c-tests/symbols.txt" | diff - "$SCRATCH/global" || fail "$file shows other names (>) than symbols.txt lists (<)"
done
nm --undefined-only "$archive" | awk '{ print $NF }' | sort >"$SCRATCH/wanted"
[ -s "$SCRATCH/wanted" ] || fail "nm finds nothing that $archive wants"
if grep -E '^_R|^_ZN|rust|^zb_' "$SCRATCH/wanted"; then fail "$archive wants these names, which are Rust's own"; fi
# a group that is left could be taken for the equal one of another Rust library
if readelf -gW "$archive" | grep 'COMDAT group'; then fail "$archive has groups of sections"; fi
if readelf -SW "$archive" | grep -E '\.llvm(bc|cmd)|\.debug_'; then fail "$archive has sections that are not for shipping"; fi

# nor do they know who built them, and where
for file in "$archive" "$shared"; do
    for folder in "$SOURCE" "${CARGO_HOME:-$HOME/.cargo}"; do
        if grep -qF "$folder" "$file"; then fail "$file has the path $folder in it"; fi
    done
done

# cmake/CargoLibrary.cmake asks for it, and settings of the environment must not take it away
nm -D --defined-only "$shared" | awk '$2 == "T" && $1 !~ /[048c]0$/ { print; found = 1 } END { exit found }' ||
    fail "$shared has functions that do not begin at a multiple of 64 bytes"

# sizes; the first has a limit, since phones carry it
size=$(wc -c <"$shared")
echo "shared library, stripped: $size bytes"
[ "$size" -le 1572864 ] || fail "$shared has more than 1.5 MiB"
echo "static library: $(wc -c <"$archive") bytes"
cat >"$SCRATCH/minimal.c" <<'END'
#include <zerobind.h>
int main(int argc, char **argv)
{
    zb_model *model;
    return argc == 2 ? zb_model_open(argv[1], 0, &model) : zb_version() != ZB_HEADER_VERSION;
}
END
says "$CC" -Os "-I$TREE/include" "$SCRATCH/minimal.c" "$archive" -Wl,--gc-sections -s -o "$SCRATCH/minimal"
says "$SCRATCH/minimal"
size=$(wc -c <"$SCRATCH/minimal")
echo "minimal program with the static library, stripped: $size bytes"
[ "$size" -le 1572864 ] || fail "$SCRATCH/minimal has more than 1.5 MiB"

# the debug information is found from where the libraries lie: the line of a function
line_of_version() {
    address=$(nm ${2:-} "$1" | awk '$3 == "zb_version" { print $1 }')
    addr2line -e "$1" "0x$address" | grep -q 'src/ffi/library.rs:[1-9]' || fail "no line of zb_version is found in $1"
}
line_of_version "$shared" -D
says "$CC" "-I$TREE/include" "$SCRATCH/minimal.c" "$TREE/lib/debug/libzerobind.a" -o "$SCRATCH/debuggable"
line_of_version "$SCRATCH/debuggable"
