#!/bin/sh
# check_complete.sh SYMBOLS HEADER NM OBJECTS: each exported function is called in the header, and is asked for by the objects
# (a list with ;) of the tests, so that no template is left unused.
set -eu

symbols=$1
header=$2
nm=$3
objects=$(printf '%s' "$4" | tr ';' '\n')

code=$(sed 's,//.*,,' "$header")
used=$(printf '%s\n' "$objects" | while read -r object; do "$nm" -u "$object"; done | sed -n 's/.*\(zb_[a-z0-9_]*\)$/\1/p' | sort -u)
missing=0
for symbol in $(grep '^zb_' "$symbols"); do
    case $symbol in
    *_options_init) continue ;; # plain structs with defaults are in their place
    esac
    printf '%s\n' "$code" | grep -qw "$symbol" || {
        echo "zerobind.hpp has nothing for $symbol" >&2
        missing=1
    }
    printf '%s\n' "$used" | grep -qx "$symbol" || {
        echo "no test of zerobind.hpp uses $symbol" >&2
        missing=1
    }
done
exit $missing
