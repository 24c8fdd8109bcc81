"""A folder that is written anew and takes the old one's place only when it is complete."""

import contextlib
import shutil


@contextlib.contextmanager
def fresh_folder(path):
    new, old = path.with_name(path.name + ".new"), path.with_name(path.name + ".old")
    for leftover in (new, old):
        shutil.rmtree(leftover, ignore_errors=True)
    new.mkdir(parents=True)
    yield new
    if path.exists():
        path.rename(old)
    new.rename(path)
    shutil.rmtree(old, ignore_errors=True)
