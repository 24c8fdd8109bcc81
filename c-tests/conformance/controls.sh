#!/bin/sh
# controls.sh onnx|tflite PROGRAM DATA KNOWN: plants one mistake after the other, and each has to be found: by an exit code of
# 1 and by a line that names the case and says what is wrong. Without a mistake the same run has to succeed.
set -u

kind=$1 program=$2 data=$3 known=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

# run KNOWN ARGUMENT...
run() {
    list=$1
    shift
    "$program" "$data" "$list" "$@" >"$folder/output" 2>&1
}

# finds TEXT KNOWN ARGUMENT...: the program fails, with a line that has the text
finds() {
    text=$1
    shift
    run "$@"
    code=$?
    if [ "$code" -ne 1 ] || ! grep -q "$text" "$folder/output"; then
        echo "NOT FOUND (exit code $code): $text; with $*"
        tail -n 20 "$folder/output"
        failed=1
    else
        shift
        echo "found: $(grep "$text" "$folder/output" | head -n 1 | cut -c1-160)"
    fi
}

passes() {
    run "$@" || {
        echo "fails without a mistake: $*"
        tail -n 20 "$folder/output"
        failed=1
    }
}

onnx_controls() {
    only='--only test_add'
    passes "$known" $only
    for way in bound lent queue; do
        finds "^wrong test_add: is wrong ($way: output sum\[59\] is" "$known" $only --plant output $way test_add
        finds "^wrong test_add: is wrong ($way: output sum: bytes beside it" "$known" $only --plant guard $way test_add
        finds "^wrong test_add: is wrong ($way: input x was changed" "$known" $only --plant input $way test_add
        finds "^wrong test_add: is wrong ($way: signal 11" "$known" $only --plant crash $way test_add
    done
    finds '^wrong test_add: is wrong (bound: output sum\[59\] is' "$known" $only --plant reference bound test_add
    finds '^engine_cannot test_add: does not pass and is not on the list' "$known" $only --plant data bound test_add
    finds '^wrong test_add: is wrong (lent: x: copied without a documented reason' "$known" $only --plant copy lent test_add
    finds '^wrong test_add: is wrong (bound: copies were allowed, and none' "$known" $only --plant copy bound test_add
    finds '^wrong test_add: is wrong (queue: objects of zerobind' "$known" $only --plant leak queue test_add
    finds '^wrong test_add: is wrong (bound: signal 14' "$known" --patience 5 $only --plant hang bound test_add
    # what the engine computes otherwise than the reference has to be the engine's all the same
    passes "$known" --only test_dft
    finds '^wrong test_dft: is wrong (lent: output y has other bytes than the engine alone' "$known" --only test_dft \
        --plant output lent test_dft

    # the list: one too many, one too few, another status, another number of cases
    { cat "$known"; echo 'unsupported test_add ZB_ERROR_UNSUPPORTED'; } >"$folder/longer"
    finds '^pass test_add: passes now: take it off the list' "$folder/longer" $only
    strings='--only test_string_concat'
    passes "$known" $strings
    grep -v ' test_string_concat ' "$known" >"$folder/shorter"
    finds '^unsupported test_string_concat: does not pass and is not on the list' "$folder/shorter" $strings
    sed 's/^\(unsupported test_string_concat\) .*/\1 ZB_ERROR_BUSY/' "$known" >"$folder/other"
    finds '^unsupported test_string_concat: does not pass for another reason' "$folder/other" $strings
}

tflite_controls() {
    model=pyopen_wakeword/alexa
    only="--only $model"
    passes "$known" $only
    for kernels in plain xnnpack; do
        finds "^$model:$kernels differs from the bare engine (run 10, slot 0: byte 3 of the output" \
            "$known" $only --kernels $kernels --plant output $model
        finds "^$model:$kernels differs from the bare engine (run 10, slot 0: the input was changed" \
            "$known" $only --kernels $kernels --plant input $model
        finds "^$model:$kernels differs from the bare engine (signal 6" "$known" $only --kernels $kernels --plant crash $model
    done
    { cat "$known"; echo "refused $model:plain nothing"; } >"$folder/longer"
    finds "^$model:plain can be run now: take it off the list" "$folder/longer" $only
    refused=mediapipe/face_landmark_with_attention
    grep -q "^model $refused " "$data/tflite.txt" || { echo "left out: $refused is not there"; return; }
    passes "$known" --only $refused
    grep -v " $refused:plain " "$known" >"$folder/shorter"
    finds "^$refused:plain cannot be run and is not on the list" "$folder/shorter" --only $refused
    sed "s|\($refused:plain\) .*|\1 CONV_2D|" "$known" >"$folder/other"
    finds "^$refused:plain cannot be run for another reason" "$folder/other" --only $refused
}

"${kind}_controls"
exit $failed
