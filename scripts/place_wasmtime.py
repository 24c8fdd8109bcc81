"""place_wasmtime.py REQUIREMENTS DIRECTORY: wasmtime's C API for examples/wasm, without building wasmtime.

The library comes from the PyPI wheel, which has no headers; the headers come from the crate of the C API, which has
no library. Both are pinned and checked by hash, and checked against each other. Writes:

    DIRECTORY/lib/libwasmtime.so   a link to the wheel's library
    DIRECTORY/include              the headers, with the conf.h that the crate's own CMake script makes
"""

import ctypes
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

import unpack_wheels
from fresh_folder import fresh_folder

CRATE = "wasmtime-c-api-impl"
VERSION = "48.0.8"
# as crates.io states it
SHA256 = "8dfcfe09bf02aa65ff67dd14322408dfba2d63bd09e43df5bfc4ada75e6ebd2f"
SUFFIX = ".dylib" if sys.platform == "darwin" else ".so"
# conf.h says which parts the library was built with, and one of them (GC) changes the layout of values: a symbol for each
# part that the headers then declare
FEATURE_SYMBOLS = {
    "cranelift": "wasmtime_module_new",
    "gc": "wasmtime_anyref_clone",
    "threads": "wasmtime_sharedmemory_new",
    "wat": "wasmtime_wat2wasm",
}


def crate_archive():
    """The path of the crate's archive in cargo's cache. `cargo info` fetches this one crate; `cargo fetch` would get all
    of wasmtime's dependencies with it."""
    with tempfile.TemporaryDirectory() as elsewhere:
        # outside of a workspace, so that no lock file has a say
        subprocess.run(
            ["cargo", "info", "--quiet", "--registry", "crates-io", f"{CRATE}@{VERSION}"],
            check=True, cwd=elsewhere, stdout=subprocess.DEVNULL,
        )
    home = pathlib.Path(os.environ.get("CARGO_HOME") or pathlib.Path.home() / ".cargo")
    for archive in (home / "registry/cache").glob(f"*/{CRATE}-{VERSION}.crate"):
        if hashlib.sha256(archive.read_bytes()).hexdigest() == SHA256:
            return archive
    raise SystemExit(f"no {CRATE}-{VERSION}.crate with SHA-256 {SHA256} in {home}/registry/cache")


def place_headers(target):
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(crate_archive()) as archive:
            # its hash is checked; the filter only keeps newer Pythons from warning
            archive.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
        script = pathlib.Path(folder) / f"{CRATE}-{VERSION}/cmake/install-headers.cmake"
        subprocess.run(
            [pathlib.Path(sys.executable).parent / "cmake", f"-DWASMTIME_HEADER_DST={target}", "-P", script],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )


def place_library(requirements, target):
    wheel = target / "wheel"
    unpack_wheels.main(requirements, wheel)
    libraries = list(wheel.glob(f"wasmtime/wasmtime/*/_libwasmtime{SUFFIX}"))
    if len(libraries) != 1:
        raise SystemExit(f"expected one library in the wheel of wasmtime, found {libraries}")
    (target / "lib").mkdir()
    # relative, since the folder is moved to its place when all of it is there
    link = target / f"lib/libwasmtime{SUFFIX}"
    link.symlink_to(os.path.relpath(libraries[0], link.parent))
    return link


def check_agreement(target, library):
    """The library and the headers are of one release series, and the library has what conf.h says."""
    (metadata,) = target.glob("wheel/wasmtime/*.dist-info/METADATA")
    built = re.search(r"^Version: (\d+)\.(\d+)\.", metadata.read_text(), re.M).groups()
    header = (target / "include/wasmtime.h").read_text()
    stated = re.search(r'WASMTIME_VERSION "(\d+)\.(\d+)\.', header).groups()
    if built != stated:
        raise SystemExit(f"the library is wasmtime {'.'.join(built)}, the headers are of {'.'.join(stated)}")
    configuration = (target / "include/wasmtime/conf.h").read_text()
    loaded = ctypes.CDLL(str(library))
    for feature, symbol in FEATURE_SYMBOLS.items():
        if f"#define WASMTIME_FEATURE_{feature.upper()}" in configuration and not hasattr(loaded, symbol):
            raise SystemExit(f"conf.h says that wasmtime has {feature}, but the library has no {symbol}")


def main(requirements, target):
    with fresh_folder(target) as folder:
        library = place_library(requirements, folder)
        place_headers(folder / "include")
        check_agreement(folder, library)


if __name__ == "__main__":
    main(sys.argv[1], pathlib.Path(sys.argv[2]))
