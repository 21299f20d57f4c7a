# SPDX-License-Identifier: BSD-2-Clause
"""Content-addressed cache of build products, safe for concurrent builds and against power loss."""

import hashlib
import json
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import platformdirs

from ...gateware.processes import file_lock

__all__ = ["BuildCache", "CacheError", "default_folder"]

#: Entries not used for this long are dropped.
KEEP_SECONDS = 60 * 24 * 3600
#: File of an entry that sums up the others: name -> SHA-256. It is written last.
_SUMS = "sums.json"


class CacheError(RuntimeError):
    """Error: the cache folder cannot be used; the message names it and the reason."""


def default_folder() -> Path:
    """Path of the cache folder: ``QUINTET_CACHE`` of the environment, else the platform's cache
    folder for quintet."""
    named = os.environ.get("QUINTET_CACHE")
    return Path(named) if named else platformdirs.user_cache_path("quintet")


class BuildCache:
    """Cache of build products. An entry is a folder named by its key, which appears atomically by
    one rename.

    Entries are loaded as programs: the folder belongs to this user or to root, and nobody else may
    write it.

    Parameters
    ----------
    folder : path, optional
        Else :func:`default_folder`.
    say : callable(str)
        Receives a line for each entry that is damaged and built again.
    """

    def __init__(
        self, folder: str | os.PathLike | None = None, say: Callable[[str], object] | None = None
    ) -> None:
        self.folder = Path(folder) if folder is not None else default_folder()
        self.say = say or (lambda text: None)

    def entry(self, key: str, build: Callable[[Path], object]) -> tuple[Path, bool]:
        """Folder of the entry ``key``. ``build(folder)`` is called to fill it if it is missing or
        damaged, and may raise.

        Returns ``(folder, fresh)``.

        Raises
        ------
        CacheError
            The folder cannot be made or written, or others can write it.
        """
        try:
            return self._entry(key, build)
        except OSError as error:
            raise CacheError(
                f"cannot keep compiled designs in {self.folder}: {error.strerror or error} "
                f"(QUINTET_CACHE names another folder)"
            ) from None

    def _entry(self, key, build):
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._check_owner()
        target = self.folder / key
        if self._use(target):
            return target, False
        # Only one process builds an entry; without such locks two may, with the same result.
        with file_lock(self.folder / f"{key}.lock", wait=True):
            if self._use(target):
                return target, False
            if os.path.lexists(target):
                self.say(f"{target} is damaged; it is built again")
                self._remove(target)
            self._prune()
            work = Path(tempfile.mkdtemp(prefix=f"{key}.", dir=self.folder))
            try:
                build(work)
                _seal(work)
                try:
                    os.rename(work, target)
                except OSError:
                    if not target.is_dir():
                        raise
                _sync(self.folder)
                return target, True
            finally:
                shutil.rmtree(work, ignore_errors=True)

    def _check_owner(self):
        if not hasattr(os, "getuid"):
            return
        found = self.folder.stat()
        mine = found.st_uid == os.getuid()
        if mine and found.st_mode & 0o022 and "QUINTET_CACHE" not in os.environ:
            # Made under a umask that shares what a user makes with a group.
            self.folder.chmod(stat.S_IMODE(found.st_mode) & ~0o022)
        elif not (mine or found.st_uid == 0) or found.st_mode & 0o022:
            raise CacheError(
                f"{self.folder} belongs to another user, or others can write it: expected a "
                f"folder that only you or root can write (chmod go-w, or QUINTET_CACHE names "
                f"another)"
            )

    def name(self, key: str, folder: Path) -> None:
        """Registers ``key`` as another name of an entry's ``folder``."""

        def build(work):
            (work / "entry").write_text(folder.name)

        self.entry(key, build)

    def named(self, key: str) -> Path | None:
        """Folder of the entry that ``key`` names, or ``None`` if there is none."""
        try:
            self._check_owner()
            target = self.folder / (self.folder / key / "entry").read_text()
        except (OSError, ValueError):
            return None
        if self._use(self.folder / key) and self._use(target):
            return target
        self._remove(self.folder / key)
        return None

    @staticmethod
    def _use(target):
        """Whether an entry exists undamaged; if so, marks it as used."""
        if not _is_whole(target):
            return False
        with suppress(OSError):
            os.utime(target)
        return True

    def _remove(self, target):
        """Removes an entry; renames it first, so that no other process sees a partial one."""
        grave = Path(tempfile.mkdtemp(prefix="removed.", dir=self.folder))
        with suppress(OSError):
            os.rename(target, grave / target.name)
        shutil.rmtree(grave, ignore_errors=True)

    def _prune(self):
        old = time.time() - KEEP_SECONDS
        for path in self.folder.iterdir():
            try:
                if path.is_dir() and path.stat().st_mtime < old:
                    shutil.rmtree(path, ignore_errors=True)
                    (self.folder / f"{path.name}.lock").unlink(missing_ok=True)
            except OSError:
                pass


def _seal(folder):
    """Computes the checksums of the files in ``folder``, and flushes all of them to disk."""
    sums = {path.name: _sum(path) for path in sorted(folder.iterdir()) if path.is_file()}
    (folder / _SUMS).write_text(json.dumps(sums))
    for path in [*folder.iterdir(), folder]:
        _sync(path)


def _sum(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def _sync(path):
    # Some file systems, and Windows, cannot do that for a folder.
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _is_whole(folder):
    try:
        sums = json.loads((folder / _SUMS).read_text())
        if hasattr(os, "getuid") and folder.stat().st_uid not in (0, os.getuid()):
            return False
        return all(_sum(folder / name) == value for name, value in sums.items())
    except (OSError, ValueError, AttributeError, TypeError):
        return False
