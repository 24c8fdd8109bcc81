#!/usr/bin/env bash
# The fuzzer's part of `make sanitize`: first the planted bugs, then always the same programs, and some of libFuzzer's.
set -euo pipefail
. "$(dirname "$0")/lanes.sh"

for sanitizer in address thread; do
    build_fuzz "$sanitizer"
    bash "$root/fuzz/controls.sh" "$sanitizer"
    "$(program_of "$sanitizer")" mock "$root"/fuzz/corpus/*
    random "$sanitizer" "$(program_of "$sanitizer")" mock seconds=6 seed=1
done
guided 8
