#!/usr/bin/env bash
# run_corpus.sh PROGRAM: every program of the corpus, on the mock engine.
set -euo pipefail
exec "$1" mock "$(dirname "$0")"/corpus/*
