#!/bin/sh
# SYSTEM_LIBRARIES (cmake/SystemLibraries.cmake) has what this Rust says that a static library needs. The C library and the
# unwinder are left out, which C compilers link by themselves.
. "${0%/*}/common.sh"

echo | rustc --print native-static-libs --crate-type staticlib -o "$SCRATCH/empty.a" - 2>"$SCRATCH/said" ||
    fail "rustc: $(cat "$SCRATCH/said")"
needed=$(sed -n 's/.*native-static-libs: //p' "$SCRATCH/said")
[ -n "$needed" ] || fail "rustc names no libraries: $(cat "$SCRATCH/said")"
for library in $needed; do
    case " $SYSTEM_LIBRARIES -lgcc_s -lc " in
    *" $library "*) ;;
    *) fail "Rust needs $library, which cmake/SystemLibraries.cmake does not name" ;;
    esac
done
