#!/bin/sh
# Installs the tree (twice, as upgrades do), checks what lies in it, and moves it away: what is left is in TREE. The other tests use that.
# BUILD is the build folder.
. "${0%/*}/common.sh"

# listed COMPONENT: the files that it has, from installed.txt; the C++ header only where the project has it
listed() {
    sed -n "s/@VERSION@/$VERSION/g; s/^$1 //p" "$consumers/installed.txt" | while read -r file; do
        if [ "$file" != include/zerobind.hpp ] || [ -e "$SOURCE/$file" ]; then echo "$file"; fi
    done
}

# found FOLDER: what lies there, but for the notices that only a toolchain with its documents has
found() {
    (cd "$1" && find . ! -type d ! -name RUST_LIBRARY_NOTICES.html | sed 's,^\./,,' | sort)
}

original="$SCRATCH/original tree"
for component in runtime development debug; do
    says "$CMAKE" --install "$BUILD" --prefix "$SCRATCH/$component" --component $component
    found "$SCRATCH/$component" >"$SCRATCH/found"
    listed $component | sort | diff - "$SCRATCH/found" ||
        fail "the component $component has other files (>) than installed.txt lists (<)"
done
rm -rf "$original"
for round in once again; do
    says "$CMAKE" --install "$BUILD" --prefix "$original"
done
for component in runtime development debug; do listed $component; done | sort >"$SCRATCH/listed"
found "$original" | diff "$SCRATCH/listed" - || fail "the whole tree has other files (>) than installed.txt lists (<)"
env DESTDIR="$SCRATCH/stage" "$CMAKE" --install "$BUILD" --prefix /opt/zero >"$SCRATCH/said" || fail "staging: $(cat "$SCRATCH/said")"
diff -r "$original" "$SCRATCH/stage/opt/zero" || fail "a staged tree differs"
rm -rf "$SCRATCH/stage" "$SCRATCH/runtime" "$SCRATCH/development" "$SCRATCH/debug"

# nothing in the tree knows where it was made or installed first
if grep -rlF -e "$original" -e "$BUILD" -e "$SOURCE" --include=*.cmake --include=*.pc --include=*.h --include=*.hpp "$original"; then
    fail "these files have a path in them, so the tree cannot be moved"
fi
rm -rf "$TREE"
mkdir -p "${TREE%/*}"
mv "$original" "$TREE"
