#!/bin/sh
# check_header_example.sh COMPILER HEADER LIBRARY MODELS SCRATCH: the program at the top of the header, taken as it stands,
# compiles without a warning and adds.
set -eu

compiler=$1
header=$2
library=$3
models=$4
scratch=$5

mkdir -p "$scratch"
sed -n '/^ \*     #include <stdio.h>/,/^ \*     }$/p' "$header" | sed 's/^ \* \{0,5\}//' >"$scratch/example.c"
"$compiler" -std=c11 -Wall -Wextra -Wpedantic -Wconversion -Werror -I "$(dirname "$header")" "$scratch/example.c" \
    "$library" -Wl,-rpath,"$(dirname "$library")" -o "$scratch/example"
cd "$models"
printed=$("$scratch/example")
[ "$printed" = "11 22 33 44" ] || {
    echo "the example prints '$printed'" >&2
    exit 1
}
