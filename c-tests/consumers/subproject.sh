#!/bin/sh
# The consumers with zerobind's sources in their own build: BY is add_subdirectory or FetchContent.
# TARGET_DIR is where the library was built already, so that it is not built again.
. "${0%/*}/common.sh"

says "$CMAKE" -S "$consumers/subproject" -B "$SCRATCH/build" -G Ninja "-DCMAKE_MAKE_PROGRAM=$NINJA" "-DCMAKE_C_COMPILER=$CC" \
    "-DZEROBIND_SOURCE=$SOURCE" "-DBY=$BY" "-DZEROBIND_TARGET_DIR=$TARGET_DIR"
says "$CMAKE" --build "$SCRATCH/build"
run_on_engines "$SCRATCH/build/sum_zerobind"
run_on_engines "$SCRATCH/build/sum_zerobind_static"
uses_static "$SCRATCH/build/sum_zerobind_static"

says "${CMAKE%/*}/ctest" --test-dir "$SCRATCH/build" -N
grep -q 'Total Tests: 0' "$SCRATCH/said" || fail "zerobind brings its tests along: $(cat "$SCRATCH/said")"
if find "$SCRATCH/build" -name '*mock*' | grep .; then fail "zerobind's mock engine is built along"; fi
says "$CMAKE" --install "$SCRATCH/build" --prefix "$SCRATCH/installed"
if [ -e "$SCRATCH/installed" ]; then fail "zerobind is installed along, which nobody asked for"; fi
