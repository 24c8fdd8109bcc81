# Sourced by features.sh and linked.sh; `root` is the project's folder.

warnings=(-std=c99 -Wall -Wextra -Wpedantic -Wconversion -Wundef -Werror)

# compile_contents LIBRARY_DIRECTORY PROGRAM: contents.c against the shared library and the zerobind_config.h there.
compile_contents() {
    ln -sf libzerobind.so "$1/libzerobind.so.0"
    "${CC:-cc}" "${warnings[@]}" -I "$root/include" -I "$1" "$root/c-tests/features/contents.c" "$root/c-tests/harness.c" \
        -L "$1" -l:libzerobind.so.0 -Wl,--allow-shlib-undefined -o "$2"
}
