# SPDX-License-Identifier: BSD-2-Clause
"""Classification results: the class that a saved tensor gives each image, and the number of correct
ones (docs/reference/jobs.md)."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import JobError
from .arrays import MemoryFile

if TYPE_CHECKING:
    from .reading import Table

__all__ = ["Recognition", "read_recognition", "recognised_text"]


@dataclass(frozen=True)
class Recognition:
    """Labels of the images whose scores a tensor holds, and the tensor's layout.

    Attributes
    ----------
    labels : integers [images], the class of each image
    shape, order : the tensor is reshaped to ``shape``, then its axes are transposed to
        ``order``; ``None``: as it was saved
    classes : the first so many numbers of each image are its scores; ``None``: all
    file : path of the labels, ``.npy`` or ``file.npz:key``; ``None``:
        a job that is saved has them beside it
    """

    labels: np.ndarray
    shape: tuple[int, ...] | None = None
    order: tuple[int, ...] | None = None
    classes: int | None = None
    file: str | None = None

    def scores(self, tensor: np.ndarray) -> np.ndarray:
        """Scores [images, classes] in the saved ``tensor``."""
        return self.rows(tensor)[:, : self.classes]

    def rows(self, tensor: np.ndarray) -> np.ndarray:
        """All numbers of each image [images, ...], scores and padding, in the saved ``tensor``."""
        if self.shape is not None:
            tensor = tensor.reshape(self.shape)
        if self.order is not None:
            tensor = tensor.transpose(self.order)
        return tensor.reshape(len(self.labels), -1)

    def correct(self, tensor: np.ndarray) -> int:
        """Number of images whose largest score (the first of equal scores) belongs to their
        label."""
        return int((self.scores(tensor).argmax(axis=1) == self.labels).sum())


def recognised_text(correct: int, images: int) -> str:
    """Formats the result of a classification: ``531 of 540 inputs right (98.3 %)``."""
    return f"{correct} of {images} inputs right ({100 * correct / images:.1f} %)"


# In a job's file


def read_recognition(
    table: Table, folder: str | Path, dtype: str, shape: tuple[int, ...]
) -> Recognition | None:
    """Reads the :class:`Recognition` of a ``[[save]]`` table (:mod:`~.reading`) of ``dtype`` and
    ``shape``, or ``None``."""
    if "labels" not in table.values:
        if "unpack" in table.values:
            raise JobError(
                f"{table.origin}: {table.key('labels')} is missing; {table.key('unpack')} says "
                f"where the scores of labelled "
                "images lie"
            )
        return None
    if np.dtype(dtype).kind == "c":
        raise table.error("dtype", "a type with an order, where there are labels")
    unpack = table.table("unpack")
    unpack.only(("shape", "order", "classes"))
    sizes = _sizes(unpack, "shape") or shape
    if math.prod(sizes) != math.prod(shape):
        raise unpack.error("shape", f"{math.prod(shape)} elements in all, as {table.name} has")
    order = _sizes(unpack, "order", 0)
    if order is not None and sorted(order) != list(range(len(sizes))):
        raise unpack.error("order", f"every axis from 0 to {len(sizes) - 1} once")
    labels = _labels(table, folder, [sizes[axis] for axis in order or range(len(sizes))])
    row = math.prod(sizes) // len(labels)
    classes = unpack.get("classes", int)
    if classes is not None and not 1 <= classes <= row:
        raise unpack.error("classes", f"1 to {row}, the numbers of each of {len(labels)} images")
    if labels.min() < 0 or labels.max() >= (classes or row):
        raise table.error(
            "labels",
            f"classes from 0 to {(classes or row) - 1}, not {labels.min()} to {labels.max()}",
        )
    return Recognition(
        labels,
        sizes if "shape" in unpack.values else None,
        order,
        classes,
        str(Path(*table.place("labels", folder))),
    )


def _sizes(table, key, least=1):
    values = table.get(key, list)
    if values is not None and (
        not values or not all(type(n) is int and n >= least for n in values) or len(values) > 32
    ):
        raise table.error(key, f"an array of 1 to 32 integers of at least {least}")
    return None if values is None else tuple(values)


def _labels(table, folder, sizes):
    """Checks the number of labels of a tensor whose axes have ``sizes``: its first axes count the
    images, so the number is a product of the first sizes. For a tensor of one axis it may be any
    divisor."""
    folder, name = table.place("labels", folder)
    elements = math.prod(sizes)
    counts = list(accumulate(sizes[:-1], initial=1, func=operator.mul))
    try:
        file = MemoryFile(folder, name)
        count = math.prod(file.shape or ())
        if file.shape is None or len(file.shape) != 1 or file.dtype.kind not in "iu":
            raise table.error("labels", f"integers of one dimension, not {file.what}")
        if elements % count:
            raise table.error(
                "labels",
                f"a number of labels that divides the {elements} elements of {table.name}, not "
                f"{count}",
            )
        if len(sizes) > 1 and count not in counts:
            raise table.error(
                "labels",
                f"a number of labels that counts images along the first axes of {list(sizes)} "
                f"({', '.join(map(str, dict.fromkeys(counts)))}), not {count}",
            )
        return file.array()
    except JobError as error:
        text = str(error)
        raise (
            error
            if text.startswith(str(table.origin))
            else JobError(
                f'{table.origin}: {table.key("labels")} = "{table.values["labels"]}": {text}'
            )
        ) from None
