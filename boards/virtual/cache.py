# SPDX-License-Identifier: BSD-2-Clause
"""A folder of build products by content, safe for processes that build at the same time."""

import os
import shutil
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import platformdirs

__all__ = ["BuildCache", "CacheError", "default_folder"]

#: Entries not used for this long are dropped.
KEEP_SECONDS = 60 * 24 * 3600


class CacheError(RuntimeError):
    """Build products cannot be kept; the message names the folder and says why."""


def default_folder():
    """``QUINTET_CACHE`` of the environment, else the platform's cache folder for quintet."""
    named = os.environ.get("QUINTET_CACHE")
    return Path(named) if named else platformdirs.user_cache_path("quintet")


@contextmanager
def _locked(path):
    """Only one process builds an entry; where the platform has no such lock, two may, with the same
    result."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with open(path, "a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


class BuildCache:
    """Entries are folders named by their key; an entry appears whole, by one rename, or not at
    all."""

    def __init__(self, folder=None):
        self.folder = Path(folder) if folder is not None else default_folder()

    def entry(self, key, build):
        """Folder of ``key``. ``build(folder)`` is called to fill it if it is not there; it may
        raise.

        Returns ``(folder, fresh)``.

        Raises
        ------
        CacheError
            The folder cannot be made or written.
        """
        try:
            return self._entry(key, build)
        except OSError as error:
            raise CacheError(
                f"cannot keep compiled designs in {self.folder}: {error.strerror or error} "
                f"(QUINTET_CACHE names another "
                "folder)"
            ) from None

    def _entry(self, key, build):
        self.folder.mkdir(parents=True, exist_ok=True)
        target = self.folder / key
        if self._use(target):
            return target, False
        with _locked(self.folder / f"{key}.lock"):
            if self._use(target):
                return target, False
            self._prune()
            work = Path(tempfile.mkdtemp(prefix=f"{key}.", dir=self.folder))
            try:
                build(work)
                try:
                    os.rename(work, target)
                except OSError:
                    if not target.is_dir():
                        raise
                return target, True
            finally:
                shutil.rmtree(work, ignore_errors=True)

    def name(self, key, folder):
        """Lets ``key`` name an entry's ``folder``, too."""

        def build(work):
            (work / "entry").write_text(folder.name)

        self.entry(key, build)

    def named(self, key):
        """Folder of the entry that ``key`` names, ``None`` where there is none (any more)."""
        try:
            target = self.folder / (self.folder / key / "entry").read_text()
        except OSError:
            return None
        if self._use(target) and self._use(self.folder / key):
            return target
        shutil.rmtree(self.folder / key, ignore_errors=True)
        return None

    @staticmethod
    def _use(target):
        if not target.is_dir():
            return False
        try:
            os.utime(target)
        except OSError:
            pass
        return True

    def _prune(self):
        old = time.time() - KEEP_SECONDS
        for path in self.folder.iterdir():
            try:
                if path.is_dir() and path.stat().st_mtime < old:
                    shutil.rmtree(path, ignore_errors=True)
                    (self.folder / f"{path.name}.lock").unlink(missing_ok=True)
            except OSError:
                pass
