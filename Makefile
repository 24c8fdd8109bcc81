# Everything starts here: `make demo` shows what zerobind is for, `make test` runs every check.
# Both work as the first command in a fresh clone; the set-up comes first and is quick once done.

SHELL := /usr/bin/env bash
# The lanes share target/ and build/, so they run one after the other; each uses all cores by itself.
.NOTPARALLEL:
# cargo and ninja would take make's job server from it, which only lines that call make may use
unexport MAKEFLAGS MFLAGS

# relative where a command is built, since the folder's name may have spaces
ROOT := $(CURDIR)
DEPS := $(ROOT)/.deps
TOOLS := .deps/venv/bin
CMAKE := $(TOOLS)/cmake
CTEST := $(TOOLS)/ctest
SHARED_SUFFIX := $(if $(filter Darwin,$(shell uname -s)),dylib,so)
JOBS := $(shell getconf _NPROCESSORS_ONLN)

# where the Rust tests and the demo find engines and data; CMake hands the same to the C tests
export ZEROBIND_TFLITE_LIB ?= $(DEPS)/engines/libtensorflowlite_c.$(SHARED_SUFFIX)
export ZEROBIND_ONNXRUNTIME_LIB ?= $(DEPS)/engines/libonnxruntime.$(SHARED_SUFFIX)
# Microsoft's builds of ONNX Runtime send a report over the network when they start, unless told not to
export ORT_DISABLE_TELEMETRY := 1
export ZB_TEST_MODELS ?= $(DEPS)/models
export ZB_TEST_REFERENCE ?= $(DEPS)/reference

CONFIGURE := $(CMAKE) -S . -G Ninja "-DCMAKE_MAKE_PROGRAM=$(ROOT)/$(TOOLS)/ninja" --log-level=WARNING
RUN_TESTS := $(CTEST) --output-on-failure --no-tests=error --parallel $(JOBS)

.PHONY: help setup build install abi notices tool demo demo-wasm bench bench-peers bench-quick performance-docs \
	instructions bench-queue test header fmt-check clippy rust-test model-check c-test configure c-test-default \
	c-test-clang features packaging-check cross c-test-linked memcheck sanitize fuzz damaged conformance cycles \
	kotlin-build test-kotlin demo-kotlin time-kotlin clean

help:
	@echo 'make demo      transcribe a recording on both engines, without a copy'
	@echo 'make demo-wasm lend a WebAssembly guest'"'"'s memory, which moves, and measure that against other ways'
	@echo 'make test      every check: format, lints, Rust tests, C tests, valgrind'
	@echo 'make bench     speed beside the bare engines: target/bench/report.html (minutes, on a quiet machine)'
	@echo 'make bench-peers  the same, and beside LiteRT, OpenVINO and tract'
	@echo 'make bench-queue  what queues cost: round trips and bursts over direct runs (minutes, on a quiet machine)'
	@echo 'make conformance  the ONNX node tests and real TFLite models: target/conformance/summary.json'
	@echo 'make cycles    a million lives of a context on each engine, with memory that does not grow (15 minutes)'
	@echo 'make sanitize  the tests on the mock engine under thread and address sanitizer'
	@echo 'make fuzz SECONDS=n   random calls of the C ABI under sanitizers and valgrind: prints the calls made and the faults'
	@echo 'make build     the library: shared in target/release, stripped and static as they are installed in build/shipped'
	@echo 'make damaged   damaged models on the bare engines, through zerobind, and after a preflight (minutes on a quiet machine)'
	@echo 'make install PREFIX=dir [DESTDIR=stage] [LIBDIR=lib64] [COMPONENT=runtime|development|debug]'
	@echo '               libraries, headers, pkg-config and CMake files, into a tree that can be moved'
	@echo 'make abi       write the snapshot of the ABI anew after an addition; refuses what needs another version'
	@echo 'make notices   write the notices of third parties anew after a change of the dependencies'
	@echo 'make test-kotlin, demo-kotlin, time-kotlin   the Kotlin binding: its tests, a demo, what a call costs'
	@echo 'make tool      the zerobind command, in target/release, and its manual pages'
	@echo 'make header    write include/zerobind.h anew after a change of the ABI'
	@echo 'make setup     only fetch tools, engines and models into .deps'
	@echo 'make clean     remove what was built (not .deps)'

setup:
	@bash scripts/setup.sh $(SETUP_OPTIONS)
demo demo-wasm: SETUP_OPTIONS := --for-demo

# Links in target/release, where bindings look for it.
build: configure
	$(CMAKE) --build build --target zerobind_shipped
	@mkdir -p target/release; for name in libzerobind.$(SHARED_SUFFIX) libzerobind.so.0; do \
		ln -sf ../shipped/release/libzerobind.$(SHARED_SUFFIX) target/release/$$name; done

# Needs cargo, a C compiler and any CMake from 3.25 on, but nothing that the set-up fetches.
PREFIX ?= /usr/local
LIBDIR ?= lib
PACKAGE_CMAKE = $(if $(wildcard $(CMAKE)),$(CMAKE),cmake)
install:
	@$(PACKAGE_CMAKE) --version >/dev/null 2>&1 || \
		{ echo 'make install: there is no cmake (3.25 or newer); install it, or run `make setup` first' >&2; exit 1; }
	@grep -qsxF 'CMAKE_HOME_DIRECTORY:INTERNAL=$(ROOT)' build/package/CMakeCache.txt || rm -rf build/package
	@$(PACKAGE_CMAKE) --log-level=WARNING -S . -B build/package -DZEROBIND_BUILD_TESTS=OFF "-DCMAKE_INSTALL_LIBDIR=$(LIBDIR)"
	$(PACKAGE_CMAKE) --build build/package
	$(PACKAGE_CMAKE) --install build/package --prefix "$(PREFIX)" $(if $(COMPONENT),--component $(COMPONENT))

# after a change of the header that programs which are built already survive
abi:
	python3 c-tests/abi/abi.py update

# after a change of the dependencies
notices:
	python3 packaging/third_party_notices.py

# The shared library comes first: the command is built from the same parts.
tool: build
	cargo build --release --locked --package zerobind-tool --package zerobind-preflight
	target/release/zerobind man target/release/man

demo: build
	$(CMAKE) --build build --target transcribe
	build/examples/transcribe --audio .deps/audio/recording.f32 --models .deps/models

demo-wasm: build configure
	@[ -d .deps/wasmtime/include ] || { echo 'demo-wasm: the set-up brought no wasmtime for this system' >&2; exit 1; }
	$(CMAKE) --build build --target wasm_host
	build/examples/wasm_host examples/wasm/guests/stream.wat .deps/models .deps/reference --table

# Speed beside the engines' own C APIs, and with bench-peers beside other runtimes, which are fetched for it.
BENCH = PYTHONDONTWRITEBYTECODE=1 $(TOOLS)/python benches/run.py build .deps/models .deps/bench target/bench

bench: build configure
	bash scripts/bench/setup.sh
	$(CMAKE) --build build --target benches/all
	$(BENCH)

bench-peers: build configure
	bash scripts/bench/setup.sh --peers
	$(CMAKE) --build build --target benches/all
	$(BENCH) --peers .deps/peer-packages

# Figures that mean nothing: only to see that all of it works.
bench-quick: build configure
	$(CMAKE) --build build --target benches/all
	$(CTEST) --test-dir build --output-on-failure -R '^bench\.'

# Thousands of damaged models, each in a process of its own: target/damaged/summary.json, list.txt.
damaged: build configure
	$(CMAKE) --build build --target damaged
	@mkdir -p target/damaged
	build/c-tests/damaged/damaged .deps target/damaged --jobs $(JOBS) --expect

# Writes what `make bench` found into docs/performance.md and its chart.
performance-docs:
	PYTHONDONTWRITEBYTECODE=1 $(TOOLS)/python benches/performance_docs.py target/bench/results.json docs

# Writes down anew how many instructions a run takes, after a change that is meant (needs valgrind).
instructions: build configure
	$(CMAKE) --build build --target bench_guard
	set -e; for engine in tflite onnxruntime; do for kind in bound lent; do PYTHONDONTWRITEBYTECODE=1 $(TOOLS)/python \
		benches/guard.py build/benches/bench_guard .deps/models $$engine $$kind benches/instructions.json --write; done; done

bench-queue: build configure
	$(CMAKE) --build build --target bench_queue
	build/benches/bench_queue .deps/models

test: setup fmt-check clippy features packaging-check rust-test model-check c-test c-test-linked sanitize memcheck test-kotlin

# The ONNX standard's node tests and real TFLite models beside the bare engines; docs/conformance.md tells of it.
conformance: configure
	$(CMAKE) --build build --target conformance_onnx conformance_tflite
	bash c-tests/conformance/run.sh build/c-tests/conformance .deps/conformance target/conformance

header:
	UPDATE_HEADER=1 cargo test --locked --test header

fmt-check:
	cargo fmt --all --check

clippy:
	cargo clippy --locked --all-targets -- -D warnings
	cargo clippy --locked --all-targets --features mock -- -D warnings
	cargo clippy --locked --all-targets --package zerobind-tool --package zerobind-preflight -- -D warnings

rust-test: setup
	cargo test --locked --features mock
	cargo test --locked --package zerobind-tool

# Every interleaving of the handle table and of the tensors' use states, by loom.
model-check:
	cargo clippy --locked --lib --tests --features loom -- -D warnings
	cargo test --locked --lib --features loom loom_

c-test: c-test-default c-test-clang

# A build folder remembers where it was made; in a clone that was moved it has to be made anew.
configure: setup
	@grep -qsxF 'CMAKE_HOME_DIRECTORY:INTERNAL=$(ROOT)' build/CMakeCache.txt || rm -rf build
	@$(CONFIGURE) -B build

c-test-default: configure
	$(CMAKE) --build build
	$(RUN_TESTS) --test-dir build --label-exclude memcheck

# Ends a lane whose PROGRAM is missing: elsewhere it is skipped aloud, in CI it fails, so that none is lost.
require = command -v $(1) >/dev/null || { echo '$@: skipped, $(1) is not installed'; [ -z "$$CI" ]; exit; }

# The same tests by the second compiler (the set-up installs it as root on Debian).
c-test-clang: setup
	@$(call require,clang++); set -ex; \
		CC=clang CXX=clang++ $(CONFIGURE) -B build/clang; \
		$(CMAKE) --build build/clang; \
		$(RUN_TESTS) --test-dir build/clang --label-exclude memcheck

# Builds without one engine or both: they compile, and report what they lack.
features: setup
	bash c-tests/features.sh

# What can be checked here of the scripts for iOS and Android.
packaging-check:
	bash packaging/check.sh

# By hand, minutes: the library and the tests without engines for other processors, and a type check for phones.
CROSS_PROGRAMS := qemu-aarch64 aarch64-linux-gnu-gcc i686-linux-gnu-gcc
cross:
	@bash scripts/system_packages.sh $(CROSS_PROGRAMS)
	@$(foreach program,$(CROSS_PROGRAMS),$(call require,$(program));) set -ex; \
		bash scripts/cross_toolchain.sh .deps/cross; \
		bash c-tests/cross.sh i686-unknown-linux-gnu; \
		bash c-tests/cross.sh aarch64-unknown-linux-gnu; \
		bash c-tests/cross_check.sh aarch64-linux-android aarch64-apple-ios

# The C tests over a library that is linked with its engines. tflitec's build script needs libclang, a pkg-config and OpenSSL.
c-test-linked: configure
	@$(call require,clang); $(call require,pkg-config); set -ex; \
		$(CMAKE) --build build; \
		bash c-tests/linked.sh build

memcheck: configure
	@$(call require,valgrind); set -ex; \
		$(CMAKE) --build build; \
		$(RUN_TESTS) --test-dir build --label-regex memcheck

# By hand, minutes: a million lives of a context on each engine, with memory that does not grow.
CYCLES ?= 1000000
cycles: configure
	$(CMAKE) --build build --target faults_cycles
	set -e; for engine in tflite onnxruntime; do \
		ZB_TEST_CYCLES=$(CYCLES) build/c-tests/faults/faults_cycles $$engine; done

# The library and the tests on the mock engine, built for the thread and the address sanitizer.
# Then the fuzzer in both, for some seconds, and bugs that are planted so that the sanitizers are seen to find them.
sanitize:
	@$(call require,clang); set -e; bash c-tests/sanitize.sh; bash fuzz/sanitize.sh

# All lanes of the fuzzer for SECONDS in all; prints the calls made and the faults. See docs/testing.md.
SECONDS ?= 600
fuzz: configure
	@$(call require,clang++); set -e; \
		$(CMAKE) --build build --target fuzz/all; \
		bash fuzz/fuzz.sh $(SECONDS)

# The Kotlin binding: its libraries and jars, on the Java that is installed (JNI) and on one that is fetched (FFM).
kotlin-build: build
	@$(call require,npm); set -ex; \
		bash scripts/kotlin_toolchain.sh; \
		cargo clippy --release --locked -p zerobind-jni -- -D warnings; \
		cargo build --release --locked -p zerobind-jni; \
		bash bindings/kotlin/build.sh jars

test-kotlin: kotlin-build
	@$(call require,npm); bash bindings/kotlin/build.sh test

demo-kotlin: kotlin-build
	@$(call require,npm); bash bindings/kotlin/build.sh demo

time-kotlin: kotlin-build
	@$(call require,npm); bash bindings/kotlin/build.sh time

clean:
	rm -rf build target
