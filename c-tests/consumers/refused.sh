#!/bin/sh
# What find_package does not take, and whether a person can read why.
. "${0%/*}/common.sh"

# ask REQUEST [OPTION...]: configures; what was said is one line, since CMake breaks lines where it likes
ask() {
    request=$1
    shift
    result=0
    # the build folder stays, which saves looking at the compiler each time
    "$CMAKE" -U zerobind_DIR -S "$consumers/refused" -B "$SCRATCH/build" -G Ninja "-DCMAKE_MAKE_PROGRAM=$NINJA" "-DCMAKE_C_COMPILER=$CC" \
        "-DCMAKE_PREFIX_PATH=$tree" "-DREQUEST=$request" "$@" >"$SCRATCH/said" 2>&1 || result=1
    said=$(tr -s ' \n' '  ' <"$SCRATCH/said")
}

accepted() {
    ask "$@"
    [ $result = 0 ] || fail "a request for '$1' is refused: $said"
}

# refused TEXT REQUEST [OPTION...]
refused() {
    text=$1
    shift
    ask "$@"
    [ $result = 1 ] || fail "a request for '$1' is accepted"
    case $said in
    *"$text"*) ;;
    *) fail "the refusal of '$1' does not say '$text' but: $said" ;;
    esac
}

tree=$TREE
accepted ""
accepted "0.1"
accepted "$VERSION EXACT"
accepted "0.0.5"
accepted "0.1...<1"
refused "version: $VERSION (serves requests for 0.0 up to $VERSION)" "9.0"
refused "version: $VERSION (serves requests for 0.0 up to $VERSION)" "0.900"
refused "version: $VERSION (serves requests for 0.0 up to $VERSION)" "1"
refused "version: $VERSION (serves requests for 0.0 up to $VERSION)" "0.900...1"
refused "zerobind has no component 'gpu', only 'shared' and 'static'" "COMPONENTS gpu"
accepted "OPTIONAL_COMPONENTS gpu"

# as a distribution splits it
tree="$SCRATCH/split tree"
cp -R "$TREE" "$tree"
rm "$tree/lib/libzerobind.a"
accepted "COMPONENTS shared"
refused "the static library of zerobind is not installed: there is no $tree/lib/libzerobind.a" "COMPONENTS static"
rm "$tree/lib/libzerobind.so.$VERSION"
refused "this package of zerobind has neither library" ""
cp "$TREE/lib/libzerobind.a" "$tree/lib"
accepted "COMPONENTS static"
refused "the shared library of zerobind is not installed" "COMPONENTS shared"

# a program of other pointers: what CMake found out about the compiler is left out and said by hand
tree=$TREE
rm -rf "$SCRATCH/build"
refused "version: $VERSION (built for 64-bit programs)" "0.1" -DLANGUAGES=NONE -DCMAKE_SIZEOF_VOID_P=4
