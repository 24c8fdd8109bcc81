#!/bin/sh
# Installs the tree (twice, as upgrades do), checks what lies in it, and moves it away: what is left is in TREE. The other tests use that.
# BUILD is the build folder, TARGET_DIR the libraries' folder of cargo.
. "${0%/*}/common.sh"

# listed COMPONENT: the files that it has, from installed.txt; some only where the project has what they are made of
listed() {
    sed -n "s/@VERSION@/$VERSION/g; s/^$1 //p" "$consumers/installed.txt" | while read -r file; do
        case $file in
        include/zerobind.hpp) made_of=$SOURCE/$file ;;
        include/zerobind_config.h) made_of=$TARGET_DIR/release/zerobind_config.h ;;
        *) made_of=$SOURCE ;;
        esac
        if [ -e "$made_of" ]; then echo "$file"; fi
    done
}

# found FOLDER: what lies there, but for the notices that only a toolchain with its documents has, and the manual's pages
found() {
    (cd "$1" && find . ! -type d ! -name RUST_LIBRARY_NOTICES.html ! -name 'zerobind*.1' | sed 's,^\./,,' | sort)
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
# nor does a program, a library, or what debuggers read, of the builder's folders
for folder in "$BUILD" "$SOURCE" "${CARGO_HOME:-$HOME/.cargo}"; do
    if grep -rlaF -e "$folder/" "$original"; then fail "these files tell of $folder"; fi
done
# the tool works from there (without engines too, which it tells)
if [ -e "$original/bin/zerobind" ]; then
    says "$original/bin/zerobind" --version
    grep -qF "$VERSION" "$SCRATCH/said" || fail "the tool is of another version: $(cat "$SCRATCH/said")"
    [ -e "$original/share/man/man1/zerobind.1" ] || fail "the tool has no manual page"
fi
rm -rf "$TREE"
mkdir -p "${TREE%/*}"
mv "$original" "$TREE"
