# shellcheck shell=bash
# To be sourced: the library, with the mock engine, built for a sanitizer. For `sanitize.sh` and the fuzzer.
#
# Rust's sanitizers are not stable: RUSTC_BOOTSTRAP opens them on the stable compiler, for these lanes alone.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
triple=$(rustc -vV | sed -n 's/^host: //p')

# library_of SANITIZER: the folder that it is in
library_of() {
    echo "$root/target/$1-sanitizer/$triple/debug"
}

# The runtime comes with rustc, so that it fits the library's instrumentation; what is linked with it needs only a compiler.
runtime_of() {
    echo "$(rustc --print target-libdir)"/librustc-*_rt."${1:0:1}san.a"
}

# build_library SANITIZER
build_library() {
    local sanitizer=$1 flags="-Zsanitizer=$1"
    if [ "$sanitizer" = address ]; then
        # and counters of what was reached, for libFuzzer; who does not ask for them does not notice
        flags+=" -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
        flags+=" -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table"
        flags+=" -Cllvm-args=-sanitizer-coverage-trace-compares"
    else
        # only TSan changes how things are called, and the standard library is not built for it; so our locks tell it who had them
        flags+=" -Cunsafe-allow-abi-mismatch=sanitizer --cfg zerobind_tsan"
    fi
    RUSTC_BOOTSTRAP=1 RUSTFLAGS="$flags" CARGO_PROFILE_DEV_OPT_LEVEL=1 cargo build --quiet --locked --features mock --lib \
        --manifest-path "$root/Cargo.toml" --target "$triple" --target-dir "$root/target/$sanitizer-sanitizer"
    ln -sf libzerobind.so "$(library_of "$sanitizer")/libzerobind.so.0"
    prove_instrumented "$sanitizer"
}

# A library without the sanitizer would pass everything. That reports come is proved by the planted bugs (fuzz/controls.sh).
prove_instrumented() {
    local library needed symbol
    library=$(library_of "$1")/libzerobind.so
    case $1 in
    address) needed=(__asan_init __asan_report_load8 __sanitizer_cov_8bit_counters_init __sanitizer_cov_trace_const_cmp8) ;;
    thread) needed=(__tsan_init __tsan_read8 __tsan_atomic64_compare_exchange_val) ;;
    esac
    local symbols
    # the dynamic ones are all that is needed, and binutils can read
    symbols=$(nm -D --undefined-only "$library" 2>/dev/null)
    for symbol in "${needed[@]}"; do
        grep -qw "$symbol" <<<"$symbols" || {
            echo "$library is not built for the $1 sanitizer: it does not call $symbol" >&2
            return 1
        }
    done
}

export TSAN_OPTIONS="suppressions=$root/c-tests/tsan.supp halt_on_error=1 ${TSAN_OPTIONS:-}"
export ASAN_OPTIONS="detect_leaks=1 ${ASAN_OPTIONS:-}"
