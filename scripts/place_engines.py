"""place_engines.py DEPS: put the engines' shared libraries under stable names in DEPS/engines.

Links, so that a library's own neighbours in its wheel stay findable.
"""

import importlib.util
import pathlib
import sys

SUFFIX = ".dylib" if sys.platform == "darwin" else ".so"


def onnxruntime_library():
    # the package is located, not imported: importing it would load the library
    package = pathlib.Path(importlib.util.find_spec("onnxruntime").origin).parent
    return only(package.glob("capi/libonnxruntime.*"))


def tensorflowlite_library(deps):
    return only((deps / "packages/pymicro_wakeword/pymicro_wakeword/lib").glob("libtensorflowlite_c.*"))


def only(paths):
    found = sorted(paths)
    if len(found) != 1:
        raise SystemExit(f"expected one library, found {found}")
    return found[0]


def main(deps):
    folder = deps / "engines"
    folder.mkdir(exist_ok=True)
    for name, library in {
        "libonnxruntime": onnxruntime_library(),
        "libtensorflowlite_c": tensorflowlite_library(deps),
    }.items():
        link = folder / (name + SUFFIX)
        link.unlink(missing_ok=True)
        link.symlink_to(library)
        print(f"{link.name}: {library.stat().st_size} bytes")
    # the name under which the system loader looks for it on behalf of a program that is linked with it
    if SUFFIX == ".so":
        soname = folder / "libonnxruntime.so.1"
        soname.unlink(missing_ok=True)
        soname.symlink_to(onnxruntime_library())


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
