#!/usr/bin/env bash
# replay.sh LANE FILE...: runs programs again that ended a lane (address, thread, plain, memcheck-tflite, memcheck-onnxruntime).
set -euo pipefail
. "$(dirname "$0")/lanes.sh"

lane=${1:?lane}
shift
case $lane in
address | thread)
    build_fuzz "$lane"
    "$(program_of "$lane")" mock "$@"
    ;;
plain) "${ZEROBIND_FUZZ_BUILD:-$root/build/fuzz}/fuzz_mock" mock "$@" ;;
memcheck-*) memcheck "${lane#memcheck-}" "$@" ;;
*)
    echo "there is no lane $lane" >&2
    exit 2
    ;;
esac
