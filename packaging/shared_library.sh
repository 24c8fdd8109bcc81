#!/bin/sh
# shared_library.sh LIBRARY OUTPUT: the shared library that is shipped: stripped, with its debug information and symbols in
# DIR/.debug/NAME.debug, where debuggers look by themselves.
set -eu

library=$1
output=$2
objcopy=${OBJCOPY:-objcopy}

directory=$(dirname "$output")
name=$(basename "$output")
mkdir -p "$directory/.debug"
rm -f "$output" "$directory/.debug/$name.debug"
"$objcopy" --only-keep-debug "$library" "$directory/.debug/$name.debug"
chmod -x "$directory/.debug/$name.debug"
"$objcopy" --strip-all --add-gnu-debuglink="$directory/.debug/$name.debug" "$library" "$output"
