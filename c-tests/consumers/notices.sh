#!/bin/sh
# The notices that are installed are those of the crates that are in the library.
. "${0%/*}/common.sh"
need python3

says python3 "$SOURCE/packaging/third_party_notices.py" --check
cmp "$SOURCE/packaging/THIRD_PARTY_NOTICES.txt" "$TREE/share/doc/zerobind/THIRD_PARTY_NOTICES.txt"
