#!/usr/bin/env bash
# run.sh PROGRAMS DATA FOLDER: both conformance runs, their tables, and FOLDER/summary.json with the figures of both.
# Fails if one of them does, but only when both have run.
set -u

programs=$1 data=$2 folder=$3
lists=$(dirname "${BASH_SOURCE[0]}")
mkdir -p "$folder"
# nothing of an earlier run may pass for this one's
rm -f "$folder"/{summary,onnx,tflite}.json "$folder/onnx.txt"

failed=0
"$programs/conformance_onnx" "$data" "$lists/onnx_known.txt" --to "$folder" || failed=1
echo
"$programs/conformance_tflite" "$data" "$lists/tflite_known.txt" --to "$folder" || failed=1

if [ -f "$folder/onnx.json" ] && [ -f "$folder/tflite.json" ]; then
    printf '{"onnx": %s, "tflite": %s}\n' "$(<"$folder/onnx.json")" "$(<"$folder/tflite.json")" >"$folder/summary.json"
    echo
    cat "$folder/summary.json"
fi
exit $failed
