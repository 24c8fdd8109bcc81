#!/bin/bash
# Engines next to zerobind: found there however the program is started, and never taken from another folder, whatever the
# program is called and wherever it is when it loads them. (bash, for `exec -a`.)
. "${0%/*}/common.sh"
need pkg-config

export PKG_CONFIG_PATH="$TREE/lib/pkgconfig"
tflite=$ZEROBIND_TFLITE_LIB onnxruntime=$ZEROBIND_ONNXRUNTIME_LIB
unset ZEROBIND_TFLITE_LIB ZEROBIND_ONNXRUNTIME_LIB LD_LIBRARY_PATH

mkdir "$SCRATCH/with" "$SCRATCH/without" "$SCRATCH/trap" "$SCRATCH/links"
cd "$SCRATCH"

# build OUTPUT FLAGS...: paths with spaces come quoted from pkg-config, so the shell reads the line again
build() {
    output=$1
    shift
    eval "says '$CC' -std=c99 $warnings '$consumers/beside.c' -o '$SCRATCH/$output' $*"
}
build with/static "$(pkg-config --cflags --libs zerobind-static)"
cp with/static without/static
build with/shared "$(pkg-config --cflags --libs zerobind) '-Wl,-rpath,\$ORIGIN'"
# (a runpath is the program's own: it does not hold for what zerobind opens)
build with/plain "$(pkg-config --cflags --libs zerobind) -Wl,-rpath,.,--enable-new-dtags"
cp with/shared with/plain without
for folder in with without; do cp "$TREE/lib/libzerobind.so.0" $folder; done
ln -s "$tflite" with/libtensorflowlite_c.so
ln -s "$onnxruntime" with/libonnxruntime.so

# the trap: libraries of the engines' names whose first act is told, as anybody's code would be run
printf '#include <unistd.h>\n__attribute__((constructor)) static void spring(void) { _exit(66); }\n' >trap.c
says "$CC" -shared -fPIC trap.c -o trap/libonnxruntime.so
cp trap/libonnxruntime.so trap/libtensorflowlite_c.so
ln -s ../with/static links/other-name
ln -s ../with/shared links/other-shared

# beside WANTED COMMAND...: both engines are loaded (real ones), or none is
beside() {
    wanted=$1
    shift
    said=$("$@") || fail "$*: ended with $? (66: code was loaded from a folder that nobody chose): ${said:-}"
    found=$(printf '%s\n' "$said" | grep -c '^loaded /') || true
    [ "$found" = "$wanted" ] || fail "$*: $found engines loaded, not $wanted: $said"
    printf '%s engines: %s\n' "$wanted" "$*"
}

called() { (exec -a "$1" "$2" "$3"); }
by_path() { (PATH="$SCRATCH/$1:$PATH" && exec "$2" "$3"); }
relative() { (cd "$1" && exec "./$2" "$3"); }

for program in static shared; do
    for folder in "$SCRATCH/with" "$SCRATCH/trap" /; do
        beside 2 "$SCRATCH/with/$program" "$folder"
        beside 2 by_path with $program "$folder"
        beside 2 relative with $program "$folder"
        beside 2 called $program "$SCRATCH/with/$program" "$folder"
        beside 2 called "./$program" "$SCRATCH/with/$program" "$folder"
        beside 2 called "$SCRATCH/trap/$program" "$SCRATCH/with/$program" "$folder"
        beside 2 called "" "$SCRATCH/with/$program" "$folder"
    done
    for name in $program ./$program trap/$program "$SCRATCH/trap/$program" ""; do
        beside 0 called "$name" "$SCRATCH/without/$program" "$SCRATCH/trap"
    done
    beside 0 by_path without $program "$SCRATCH/trap"
    beside 0 relative without $program "$SCRATCH/trap"
done
beside 2 "$SCRATCH/links/other-name" "$SCRATCH/trap"
beside 2 by_path links other-name "$SCRATCH/trap"
beside 2 "$SCRATCH/links/other-shared" "$SCRATCH/trap"
# the loader knows the library by a relative name
beside 2 relative with plain "$SCRATCH/trap"
beside 0 relative without plain "$SCRATCH/trap"
