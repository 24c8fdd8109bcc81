#!/bin/sh
# The consumers by find_package: C99 to C23, the C header in C++11, the C++ header from C++17 on, shared and static.
. "${0%/*}/common.sh"

says "$CMAKE" -S "$consumers" -B "$SCRATCH/build" -G Ninja "-DCMAKE_MAKE_PROGRAM=$NINJA" "-DCMAKE_C_COMPILER=$CC" \
    "-DCMAKE_CXX_COMPILER=$CXX" "-DCMAKE_PREFIX_PATH=$TREE" "-DZEROBIND_TREE=$TREE"
says "$CMAKE" --build "$SCRATCH/build"
standards="c99 c11 c17 c23 cxx11"
if [ -e "$TREE/include/zerobind.hpp" ]; then standards="$standards cxx17 cxx20 cxx23"; fi
for kind in shared static; do
    for standard in $standards; do
        program=$SCRATCH/build/bin/$standard.$kind
        uses_$kind "$program"
        run_on_engines "$program"
    done
done
