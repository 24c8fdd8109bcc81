#!/bin/sh
# check_library.sh LIBRARY SYMBOLS HEADER SONAME: the shipped library from outside.
# It exports exactly the listed symbols, the header declares exactly those, its SONAME is the one that programs record, it
# is never unloaded, and the mock engine of the tests is not in it.
set -u

library=$1
symbols=$2
header=$3
soname=$4
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

fail() {
    echo "failed: $1" >&2
    failed=1
}

nm -D --defined-only "$library" | awk '{ print $3 }' | LC_ALL=C sort >"$scratch/exported"
LC_ALL=C sort "$symbols" >"$scratch/listed"
[ -s "$scratch/exported" ] || fail "nm finds no symbols in $library"
diff "$scratch/listed" "$scratch/exported" || fail "exported symbols (>) are not those of $symbols (<)"

# declarations at the start of a line or of its second part, not those in comments or inline helpers
grep -v '^ *\(//\|\*\|/\*\)' "$header" | grep -v 'static inline' | grep -o '\bzb_[a-z_]*(' | tr -d '(' |
    grep -v '^zb_loan_\|^zb_slot_input\|^zb_slot_output' | LC_ALL=C sort -u >"$scratch/declared"
diff "$scratch/listed" "$scratch/declared" || fail "functions of the header (>) are not those of $symbols (<)"

dynamic=$(readelf -dW "$library")
echo "$dynamic" | grep -q "SONAME.*\[$soname\]" || fail "SONAME is not $soname"
echo "$dynamic" | grep -q 'NODELETE' || fail "the library may be unloaded"

if grep -q 'zerobind-mock' "$library"; then
    fail "the mock engine is in the shipped library"
fi
exit $failed
