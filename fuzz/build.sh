# shellcheck shell=bash
# To be sourced: the fuzzer built for a sanitizer, over the library that is built for it.
. "$(dirname "${BASH_SOURCE[0]}")/../c-tests/sanitized.sh"

# program_of SANITIZER: the driver that makes its own random programs
program_of() {
    echo "$root/target/fuzz/$1/fuzz"
}

# compile SANITIZER: an object of each source that is older than it or a header, two at a time
compile() {
    local out=$root/target/fuzz/$1 source object
    local flags=(-std=c++17 -O1 -g "-fsanitize=$1" -fno-omit-frame-pointer -Wall -Wextra -Wpedantic -Wconversion -Werror)
    # of the undefined-behaviour sanitizer the traps alone, which need no runtime; memcmp of no bytes at NULL is harmless
    [ "$1" = thread ] || flags+=(-fsanitize=undefined -fno-sanitize=nonnull-attribute -fsanitize-trap=undefined)
    mkdir -p "$out"
    for source in "$root"/fuzz/*.cpp; do
        object=$out/$(basename "$source" .cpp).o
        [ -n "$(find "$source" "$root"/fuzz/*.hpp "$root/include/zerobind.h" -newer "$object" 2>&1 | head -1)" ] || continue
        printf '%s\0%s\0' "$source" "$object"
    done | xargs -0 -r -n 2 -P 2 bash -c '"${CXX:-clang++}" "${@:1:$#-2}" -c "${@: -2:1}" -o "${@: -1}"' \
        compile "${flags[@]}" -I "$root/include"
}

# link SANITIZER PROGRAM MAIN [LIBRARY...]
link() {
    local sanitizer=$1 program=$2 main=$3 library objects=() object
    library=$(library_of "$sanitizer")
    for object in "$root/target/fuzz/$sanitizer"/*.o; do
        case $(basename "$object" .o) in
        main | libfuzzer) ;;
        *) objects+=("$object") ;;
        esac
    done
    "${CXX:-clang++}" -rdynamic "${objects[@]}" "$root/target/fuzz/$sanitizer/$main.o" \
        -Wl,--whole-archive "$(runtime_of "$sanitizer")" "${@:4}" -Wl,--no-whole-archive \
        -L "$library" -lzerobind -Wl,-rpath,"$library" -lpthread -ldl -lrt -lm -o "$program"
}

# libFuzzer's archive of this clang; "" if it is not installed
libfuzzer() {
    local archive
    archive=$("${CXX:-clang++}" --print-file-name="libclang_rt.fuzzer-$(uname -m).a")
    if [ -f "$archive" ]; then echo "$archive"; fi
}

# build_fuzz SANITIZER
build_fuzz() {
    build_library "$1"
    compile "$1"
    link "$1" "$(program_of "$1")" main
    if [ "$1" = address ] && [ -n "$(libfuzzer)" ]; then
        link address "$root/target/fuzz/address/libfuzzer" libfuzzer "$(libfuzzer)"
    fi
}
