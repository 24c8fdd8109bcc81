#!/usr/bin/env bash
# build.sh jars|test|demo|time: builds the Kotlin binding without a build server, and runs what it is asked to.
#
# LOANS=100000 LIMIT=3600 make the stress of `test` longer: so many loans, a garbage collection at each (GC=100: at each
# hundredth), and seconds after which a test hangs. EXITS=20: so many programs that end in the middle of each thing. ONLY=name
# runs the tests with the name in theirs, and nothing else.
#
# Needs what setup.sh and kotlin_toolchain.sh have brought, and libzerobind and libzerobind_jni in target/release; the Makefile
# calls it so. Everything goes into build/kotlin; a jar is built again when what goes into it has changed.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
root=$(cd "$here/../.." && pwd -P)
out=$root/build/kotlin
tools=$root/.deps/kotlin
java25=$tools/java/bin/java
kotlin=$tools/compiler/lib
stdlib=$kotlin/kotlin-stdlib.jar
coroutines=$kotlin/kotlinx-coroutines-core-jvm.jar
libraries=$root/target/release

main() {
    mkdir -p "$out"
    jars
    case $1 in
        jars) ;;
        test) tests ;;
        demo) demo ;;
        time) time_calls ;;
        *) echo "build.sh: jars, test, demo or time, not $1" >&2; exit 2 ;;
    esac
}

jars() {
    local old=(-jvm-target 11) new=(-jvm-target 22) api=(-Xexplicit-api=strict)
    local friend=(-Xfriend-paths="$out/zerobind.jar")
    jar zerobind src/main -- "${old[@]}" "${api[@]}" -cp "$stdlib"
    jar zerobind-coroutines src/coroutines -- "${old[@]}" "${api[@]}" -cp "$stdlib:$out/zerobind.jar:$coroutines"
    jar zerobind-ffm src/ffm -- "${new[@]}" "${api[@]}" "${friend[@]}" -cp "$stdlib:$out/zerobind.jar"
    jar tests src/test -- "${old[@]}" "${friend[@]}" \
        -cp "$stdlib:$out/zerobind.jar:$out/zerobind-coroutines.jar:$coroutines"
    jar tests22 src/test22 -- "${new[@]}" "${friend[@]}" -cp "$stdlib:$out/zerobind.jar:$out/zerobind-ffm.jar:$out/tests.jar"
    jar demo demo -- "${old[@]}" -cp "$stdlib:$out/zerobind.jar"
}

# The stamp of the jar before: each jar may use those before it.
previous=

# jar NAME FOLDER -- OPTION...: compiles the sources in FOLDER to NAME.jar, with its resources, unless nothing has changed
jar() {
    local name=$1 folder=$here/$2 file=$out/$1.jar stamp
    shift 3
    stamp=$( (printf '%s\n' "$previous" "$@"; cat "${BASH_SOURCE[0]}" "$tools"/../stamp-kotlin-*
        find "$folder" -type f | LC_ALL=C sort | xargs -d '\n' cat) | sha256sum)
    previous=$stamp
    if [ -f "$file" ] && [ "$(cat "$file.stamp" 2>/dev/null)" = "$stamp" ]; then
        return
    fi
    echo "kotlin: $name.jar"
    rm -f "$file" "$file.stamp"
    find "$folder" -name '*.kt' | LC_ALL=C sort >"$out/$name.sources"
    compile -Werror -module-name "${name//-/_}" -d "$file" "$@" "@$out/$name.sources"
    if [ -d "$folder/resources" ]; then
        (cd "$folder/resources" && "$root/.deps/venv/bin/python" -c 'import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "a") as jar:
    for name in sys.argv[2:]:
        jar.write(name)' "$file" $(find . -type f | sed 's,^\./,,'))
    fi
    echo "$stamp" >"$file.stamp"
}

compile() {
    local classes
    classes=$(printf '%s:' "$kotlin"/{kotlin-compiler,kotlin-stdlib,kotlin-script-runtime,kotlin-reflect,kotlin-daemon-client}.jar \
        "$kotlin"/{kotlinx-coroutines-core-jvm,annotations-13.0}.jar)
    # short runs: no time for the second compiler; the rest is about the compiler's own libraries
    "$java25" -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx1g --enable-native-access=ALL-UNNAMED \
        --sun-misc-unsafe-memory-access=allow -cp "$classes" org.jetbrains.kotlin.cli.jvm.K2JVMCompiler \
        -no-stdlib -no-reflect -jdk-home "$tools/java" "$@"
}

# run JAVA BACKEND MAIN ARGUMENT...: with options in OPTIONS, and the library PRELOAD before all others
run() {
    local java=$1 backend=$2 classes
    classes=$out/tests.jar:$out/demo.jar:$out/zerobind.jar:$out/zerobind-coroutines.jar:$stdlib:$coroutines
    [ "$backend" = jni ] || classes=$classes:$out/zerobind-ffm.jar:$out/tests22.jar
    shift 2
    LD_PRELOAD=${PRELOAD:-} ZB_KOTLIN_REFERENCE=$out/reference ZB_KOTLIN_FOLDER=$out/data "$java" ${OPTIONS:-} -XX:+UseSerialGC \
        "-Dzerobind.library.path=$libraries" "-Dzerobind.backend=$backend" -cp "$classes" "$@"
}

# What a system's own Java can be used for: JNI, if it is one that cannot do better. Else the one that was fetched does it.
java_for_jni() {
    local java version
    for java in "${JAVA_HOME:-/nonexistent}/bin/java" "$(command -v java || true)"; do
        [ -x "$java" ] || continue
        version=$("$java" -XshowSettings:properties -version 2>&1 | sed -n 's/^ *java.specification.version = //p')
        if [[ $version =~ ^[0-9]+$ ]] && [ "$version" -ge 11 ] && [ "$version" -lt 22 ]; then
            echo "$java"
            return
        fi
    done
    echo "$java25"
}

NATIVE=--enable-native-access=ALL-UNNAMED
# older ones know neither the option nor the warning
native_for() { [ "$1" != "$java25" ] || echo "$NATIVE"; }

reference() {
    "${CC:-cc}" -std=c99 -O2 -Wall -Wextra -Wpedantic -Wconversion -Werror -I "$root/include" "$here/c/reference.c" \
        -L "$libraries" -lzerobind "-Wl,-rpath,$libraries" -o "$out/reference"
}

tests() {
    local java log=$out/check-jni.log stress
    java=$(java_for_jni)
    # a small heap, so that the garbage collector has work, and is soon done
    stress="-Xmx32m -Dzerobind.test.loans=${LOANS:-1000} -Dzerobind.test.gc=${GC:-1}"
    stress="$stress -Dzerobind.test.limit=${LIMIT:-120}"
    reference
    OPTIONS="$stress -Xcheck:jni $(native_for "$java")" run "$java" jni zerobind.MainKt ${ONLY:+"$ONLY"} 2>&1 | tee "$log"
    # what -Xcheck:jni has to say, and objects that tests left open
    if grep -nE 'WARNING|FATAL ERROR|not closed' "$log"; then
        echo 'failed: -Xcheck:jni is not content, or something was not closed' >&2
        exit 1
    fi
    OPTIONS="$stress $NATIVE" run "$java25" ffm zerobind.MainKt ${ONLY:+"$ONLY"}
    [ -z "${ONLY:-}" ] || return 0
    OPTIONS="$stress $NATIVE" run "$java25" ffm zerobind.ffm.Main22Kt
    add "$java" jni
    add "$java25" ffm
    exits "$java" jni
    exits "$java25" ffm
}

# Programs that end in the middle, each way several times. The C library takes its time to end, in which queues go on.
exits() {
    local what how count
    "${CC:-cc}" -std=c99 -O2 -Wall -Wextra -Wpedantic -Wconversion -Werror -shared -fPIC "$here/c/slow_exit.c" -o "$out/slow_exit.so"
    for what in network queues releases; do
        for how in return exit; do
            for count in $(seq "${EXITS:-1}"); do
                OPTIONS="$(native_for "$1") -XX:ErrorFile=$out/hs_err.log" PRELOAD=$out/slow_exit.so \
                    run "$1" "$2" zerobind.MainKt exit "$what" "$how" >"$out/exit.log" 2>&1 ||
                    { cat "$out/exit.log"; echo "failed: exit $what $how by $2, the $count. time" >&2; exit 1; }
            done
        done
    done
    echo "kotlin: $((6 * ${EXITS:-1})) programs ended in the middle, by $2"
}

# The program that the README shows.
add() {
    local model said
    for model in onnx tflite; do
        said=$(OPTIONS=$(native_for "$1") run "$1" "$2" demo.AddKt "$root/.deps/models/add4.$model")
        if [[ $said != *'[11.0, 22.0, 33.0, 44.0]'*'path=DIRECT, bytesCopied=0'*'[21.0, 42.0, 63.0, 84.0]'* ]]; then
            echo "failed: Add.kt on $model by $2 said: $said" >&2
            exit 1
        fi
    done
}

demo() {
    OPTIONS=$NATIVE run "$java25" ffm demo.ListenKt "$root/.deps/audio/recording.f32" "$root/.deps/models"
}

# ns for a run of the tiny model, in C and from Kotlin on both ways
time_calls() {
    local java runs=${RUNS:-1000} model
    java=$(java_for_jni)
    reference
    for model in onnx tflite; do
        "$out/reference" time "$root/.deps/models/add4.$model" "$runs" | sed "s/^/$model /"
    done
    OPTIONS=$(native_for "$java") run "$java" jni zerobind.MainKt time "$runs" | sed "s,$, ($java),"
    OPTIONS=$NATIVE run "$java25" jni zerobind.MainKt time "$runs"
    OPTIONS=$NATIVE run "$java25" ffm zerobind.MainKt time "$runs"
}

main "$@"
