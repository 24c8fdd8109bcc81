#!/usr/bin/env bash
# fuzz.sh SECONDS: all lanes of the fuzzer one after the other, so long in all; then the calls made and the faults.
# Needs `build/` (make configure) for the real engines. Fails if there was a fault.
set -uo pipefail
. "$(dirname "$0")/lanes.sh"

each=$((${1:?seconds} / 6 + 1))
log=$root/target/fuzz/summary.txt
seed=$(date +%s)000
mkdir -p "$root/target/fuzz"
: >"$log"
count=0

lane() {
    echo "== $1, $each s"
    "${@:2}" > >(tee -a "$log") 2>&1 || count=$((count + 1))
}

build_fuzz address && build_fuzz thread || exit 1
lane 'guided by coverage, address sanitizer' guided "$each"
lane 'random, address sanitizer' random address "$(program_of address)" mock "seconds=$each" "seed=$seed"
lane 'random, thread sanitizer' random thread "$(program_of thread)" mock "seconds=$each" "seed=$seed"
lane 'random, unchecked, many calls' random plain "${ZEROBIND_FUZZ_BUILD:-$root/build/fuzz}/fuzz_mock" mock "seconds=$each" "seed=$seed" all
for engine in tflite onnxruntime; do
    if command -v valgrind >/dev/null; then
        lane "random, $engine under memcheck" memcheck "$engine" "seconds=$each" "seed=$seed" size=4000
    else
        echo "fuzz: $engine under memcheck: skipped, valgrind is not installed"
        [ -z "${CI:-}" ] || count=$((count + 1))
    fi
done
sleep 0.2
calls=$(grep -aoE '[0-9]+ calls' "$log" | awk '{ sum += $1 } END { print sum + 0 }')
echo "fuzz: $calls calls made in all lanes, $count faults"
[ "$count" = 0 ]
