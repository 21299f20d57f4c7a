# SPDX-License-Identifier: BSD-2-Clause
"""External weights of a model: read only from regular files within the model's folder."""

from collections.abc import Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath

from .errors import OnnxError

__all__ = ["external_bytes"]


def external_bytes(path: Path, tensor: str, entries: Mapping[str, str], expected: int) -> bytes:
    """Reads the bytes of a constant from its external file.

    Parameters
    ----------
    path : Path of the model's file
    tensor : str, the constant's name, for messages
    entries : dict, location of the data from the model: location, offset, length
    expected : bytes that its shape and type take
    """
    location = entries.get("location", "")
    what = f"{path}: constant {tensor}: external data {location!r}"
    parts = PurePosixPath(location).parts
    if (
        not parts
        or PurePosixPath(location).is_absolute()
        or PureWindowsPath(location).drive
        or ".." in parts
        or "\\" in location
        or "\0" in location
    ):
        raise OnnxError(f"{what} is not inside the model's folder")
    place = path.parent
    for part in parts:
        place = place / part
        if place.is_symlink():
            raise OnnxError(
                f"{what} goes through the symbolic link {place.name}: expected a file in the "
                f"model's own folder"
            )
    if not place.is_file():
        raise OnnxError(f"{what} is no file")
    try:
        offset = int(entries.get("offset") or 0)
        size = place.stat().st_size
        length = int(entries["length"]) if entries.get("length") else size - offset
    except ValueError:
        raise OnnxError(
            f"{what} has offset {entries.get('offset')!r} and length "
            f"{entries.get('length')!r}; numbers are expected"
        ) from None
    if length != expected or offset < 0 or offset + length > size:
        raise OnnxError(
            f"{what} has {length} bytes from byte {offset} of {size}, the constant takes {expected}"
        )
    with open(place, "rb") as file:
        file.seek(offset)
        return file.read(length)
