#!/bin/sh
# check_misuse.sh DIAGNOSTIC COMPILER ARGUMENT...: the compiler fails, and one of its errors is of that kind.
set -u

diagnostic=$1
shift
if said=$("$@" 2>&1); then
    echo "it compiles" >&2
    exit 1
fi
printf '%s\n' "$said"
printf '%s\n' "$said" | grep 'error:' | grep -Eq "$diagnostic" || {
    echo "it fails for another reason than '$diagnostic'" >&2
    exit 1
}
