#!/bin/sh
# check_example.sh COMPILER HEADER LIBRARY MODELS SCRATCH: the program at the top of the header, taken as it stands, compiles
# without a warning, also where there are no exceptions, and adds.
set -eu

compiler=$1
header=$2
library=$3
models=$4
scratch=$5

mkdir -p "$scratch"
sed -n '/^ \*     #include <cstdio>/,/^ \* The rules/p' "$header" | sed -e '$d' -e 's/^ \* \{0,5\}//' >"$scratch/example.cpp"
for without in "" "-fno-exceptions -fno-rtti"; do
    # shellcheck disable=SC2086 # two options, or none
    "$compiler" -std=c++17 $without -Wall -Wextra -Wpedantic -Wconversion -Werror -I "$(dirname "$header")" \
        "$scratch/example.cpp" "$library" -Wl,-rpath,"$(dirname "$library")" -o "$scratch/example"
    printed=$(cd "$models" && "$scratch/example")
    [ "$printed" = "11 22 33 44" ] || {
        echo "the example prints '$printed'" >&2
        exit 1
    }
done
