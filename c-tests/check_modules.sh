#!/bin/sh
# check_modules.sh CLANG INCLUDE FOLDER: the header as a module, and as Swift's importer reads it.
#
# C, C++ and Objective-C import it from module.modulemap and use its constants, functions and inline helpers; with the macro
# that Swift defines, the enums for Swift are there and equal to the constants. FOLDER has the sources.
set -u

compiler=$1
include=$2
sources=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

fail() {
    echo "failed: $1" >&2
    failed=1
}

# compile NAME SOURCE OPTION...: without a warning, and by a module that was built for it
compile() {
    name=$1
    source=$2
    shift 2
    "$compiler" "$@" -Wall -Wextra -Wpedantic -Werror -fmodules "-fmodules-cache-path=$scratch/$name" -I "$include" \
        -fsyntax-only "$sources/$source" || fail "$name does not compile"
    find "$scratch/$name" -name 'CZerobind*.pcm' 2>/dev/null | grep -q . || fail "$name did not import the module"
}

compile c use.c -x c -std=c99
compile c++ use.c -x c++ -std=c++11 -fcxx-modules
compile objective-c use.m -x objective-c -std=c99
compile swift-c swift.c -x c -std=c11 -D__swift__=60000
compile swift-objective-c swift.c -x objective-c -std=c11 -D__swift__=60000

# what Swift's importer goes by
"$compiler" -x c -std=c11 -D__swift__=60000 -I "$include" -fsyntax-only -Xclang -ast-dump "$sources/swift.c" >"$scratch/tree"
for attribute in 'SwiftNameAttr.*"ZBStatus"' 'SwiftNameAttr.*"bufferTooSmall"' 'EnumExtensibilityAttr.* Open'; do
    grep -q "$attribute" "$scratch/tree" || fail "the enums for Swift lack $attribute"
done
exit $failed
