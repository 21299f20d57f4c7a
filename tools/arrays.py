# SPDX-License-Identifier: BSD-2-Clause
"""Files that a job loads into memory and saves from it: ``.npy``, ``.npz:key`` and ``.bin``."""
import os
import re
import tempfile
import zipfile
import zlib
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from .errors import JobError

__all__ = ["encode", "memory_bytes", "read_array", "read_file", "write_atomically"]

#: Nothing larger fits below the control block at 0x8000_0000, so a larger file is refused unread.
LARGEST = 0x8000_0000


def read_array(name, folder=""):
    """The array of file ``name`` (relative to ``folder``): ``.npy``, or ``.npz:key``. Errors as :func:`read_file`."""
    path, key, suffix = _place(folder, name)
    if suffix not in (".npy", ".npz"):
        raise JobError(f"{path}: unknown suffix {suffix!r}; expected .npy or .npz:key")
    with _readable(path):
        return _read_npz(path, key) if key else _read_npy(path)


def read_file(folder, name):
    """Bytes of file ``name`` (relative to ``folder``) as they lie in memory: C order, little-endian.

    Returns
    -------
    data : bytes
    what : str, for messages: ``int8 [3, 4]``, or ``24 bytes``

    Raises
    ------
    JobError
        Missing, unreadable, truncated or empty file, unknown suffix, pickled or unsuitable data. The message does
        not name the job; the caller puts it in front.
    """
    path, key, suffix = _place(folder, name)
    if suffix not in (".npy", ".npz", ".bin"):
        raise JobError(f"unknown suffix {path.suffix!r}; expected .npy, .npz:key or .bin")
    with _readable(path):
        if suffix == ".bin":
            data = path.read_bytes()
            what = f"{len(data)} bytes"
        else:
            data, what = memory_bytes(_read_npz(path, key) if key else _read_npy(path), path)
    if not data:
        raise JobError(f"{path} is empty")
    return data, what


def _place(folder, name):
    """Path, key inside an archive or ``None``, and suffix of file ``name``."""
    member = re.fullmatch(r"(.+\.npz):(.+)", name, re.IGNORECASE)
    path = Path(folder, member[1] if member else name)
    suffix = path.suffix.lower()
    if suffix == ".npz" and not member:
        raise JobError("an .npz holds several arrays: name one, as in \"data.npz:weights\"")
    return path, member[2] if member else None, suffix


@contextmanager
def _readable(path):
    """Refuses what cannot be read, or is larger than main memory, as :class:`JobError`."""
    try:
        size = path.stat().st_size
        if path.is_dir():
            raise JobError(f"{path} is a directory")
        if size > LARGEST:
            raise JobError(f"{path} has {size} bytes; main memory never exceeds {LARGEST}")
        yield
    except FileNotFoundError:
        raise JobError(f"no such file: {path}") from None
    except OSError as error:
        raise JobError(f"cannot read {path}: {error.strerror or error}") from None


def _read_npy(path):
    with open(path, "rb") as file:
        if file.read(6) != b"\x93NUMPY":
            raise JobError(f"{path} is no .npy file (or is truncated)")
    try:
        return np.load(path, allow_pickle=False)
    except (ValueError, EOFError, SyntaxError, TypeError) as error:
        raise JobError(f"{path} {_numpy_trouble(error)}") from None


def _read_npz(path, key):
    try:
        with np.load(path, allow_pickle=False) as archive:
            if not hasattr(archive, "files"):
                raise JobError(f"{path} is no .npz archive")
            if key not in archive.files:
                raise JobError(f"{path} has no array {key!r}; it has {', '.join(archive.files) or 'none'}")
            return archive[key]
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
        raise JobError(f"{path}: array {key!r} {_numpy_trouble(error)}") from None


def _numpy_trouble(error):
    text = " ".join(str(error).split())
    if "allow_pickle" in text or "pickle" in text.lower():
        return "holds pickled objects, which are never unpickled; expected numbers"
    if isinstance(error, EOFError) or any(word in text for word in ("reshape", "EOF", "not enough", "could only read",
                                                                    "length")):
        return "is truncated"
    return f"cannot be read ({text})"


def memory_bytes(array, path="array"):
    """``array`` as memory holds it (C order, little-endian), and a description of it."""
    array = np.asarray(array)
    if array.dtype.kind not in "biufc":
        raise JobError(f"{path} holds {array.dtype}; expected integers, floats or booleans")
    what = f"{array.dtype.newbyteorder('=').name} {list(array.shape)}"
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).tobytes(), what


def encode(value):
    """File contents of a saved tensor: ``.npy`` for an array, raw for bytes."""
    if isinstance(value, bytes):
        return value
    import io
    buffer = io.BytesIO()
    np.save(buffer, value, allow_pickle=False)
    return buffer.getvalue()


def write_atomically(files):
    """Write all of ``files`` (path -> bytes) or none: complete beside their places first, then renamed."""
    written = []
    try:
        for path, data in files.items():
            path = Path(path)
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
            written.append((temporary, path))
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            # mkstemp makes files for their owner alone; give them what open() would have given.
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask)
        while written:
            os.replace(*written[0])
            written.pop(0)
    except OSError as error:
        path = written[-1][1] if written else next(iter(files))
        raise JobError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        for temporary, _ in written:
            try:
                os.unlink(temporary)
            except OSError:
                pass
