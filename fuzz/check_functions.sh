#!/usr/bin/env bash
# Every function of the library is known to the fuzzer, so that a new one is not forgotten.
set -euo pipefail
cd "$(dirname "$0")"

# they start a process, and have tests of their own
apart='zb_model_preflight'
known=$(grep -oE 'X\(zb_[a-z0-9_]+' calls.hpp | cut -c3- | sort)
missing=$(comm -23 <(grep -oE '^zb_[a-z0-9_]+' ../c-tests/symbols.txt | grep -vE "^($apart)" | sort) <(echo "$known"))
if [ -n "$missing" ]; then
    echo "the fuzzer does not call (fuzz/calls.hpp, and a step): ${missing//$'\n'/ }" >&2
    exit 1
fi
