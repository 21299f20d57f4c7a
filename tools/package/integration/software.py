# SPDX-License-Identifier: BSD-2-Clause
"""A job for the CPU of another SoC: what its program writes into memory and registers, and what it
should find afterwards (docs/guides/own-soc.md)."""

from __future__ import annotations

import os

import numpy as np

from quintet.tools.jobs.job import Job
from quintet.tools.jobs.runner import run_job
from quintet.tools.targets.model import ModelTarget

__all__ = ["PreparedJob"]


class PreparedJob:
    """A job that saves one tensor of recognised images, with the golden model's results.

    Parameters
    ----------
    path : file of the job
    memory_size : int
        Bytes of the core's memory.

    Attributes
    ----------
    job : Job
    save : the job's tensor of results
    image : bytes [memory_size]
        Contents of the core's memory before the run.
    registers : list of (offset in bytes, word of 32 bits)
        Registers to write before the start.
    expected : bytes [save.size]
        The golden model's tensor.

    Raises
    ------
    JobError
        The job cannot be read.
    ValueError
        It has several programs, or does not save one tensor of int8 with labels.
    """

    def __init__(self, path: str | os.PathLike[str], *, memory_size: int) -> None:
        self.job = job = Job.load(os.fspath(path))
        if len(job.runs) != 1:
            raise ValueError(f"{path}: {len(job.runs)} programs: expected one")
        recognised = [save for save in job.saves if save.recognition is not None]
        if len(recognised) != 1 or recognised[0].dtype != "int8":
            raise ValueError(f"{path}: expected one tensor of int8 with labels among its saves")
        (self.save,) = recognised
        model = ModelTarget(
            isa=job.core, preset=None, overrides=job.params, memory_size=memory_size
        )
        result = run_job(job, model)
        self.expected = bytes(result.raw[self.save.name])
        image = bytearray(memory_size)
        for part in result.image.parts:
            image[part.at : part.at + len(part.data)] = part.data
        self.image = bytes(image)
        self.registers = [
            (register.offset + at, value >> 8 * at & 0xFFFF_FFFF)
            for name, value in result.image.registers.items()
            for register in [model.registers.find(name)[0]]
            for at in range(0, register.width // 8, 4)
        ]

    def header(self) -> str:
        """C header for a program that checks the results: ``registers``, ``RESULT_AT`` (address in
        the core's memory), ``expected``, ``labels``, ``CLASSES``, and the layout of the scores:
        class ``c`` of image ``i`` is byte ``image_at[i] + class_at[c]``.

        Raises
        ------
        ValueError
            The scores have no such layout.
        """
        save, recognition = self.save, self.save.recognition
        assert recognition is not None
        scores = recognition.rows(np.arange(save.size).reshape(save.shape))
        images, classes = scores[:, 0], scores[0] - scores[0, 0]
        if (scores != images[:, None] + classes).any():
            raise ValueError(f"{save.name}: expected the same distance of classes in each image")
        return "".join(
            [
                "#include <stdint.h>\n",
                _array(
                    "uint32_t", "registers[][2]", [f"{{{a:#x}, {v:#x}}}" for a, v in self.registers]
                ),
                f"#define RESULT_AT {save.at:#x}\n",
                f"#define CLASSES {recognition.classes or len(classes)}\n",
                _array("int8_t", "expected[]", np.frombuffer(self.expected, np.int8)),
                _array("uint8_t", "labels[]", recognition.labels),
                _array("uint16_t", "image_at[]", images),
                _array("uint16_t", "class_at[]", classes),
            ]
        )


def _array(kind, name, values):
    return f"static const {kind} {name} = {{{', '.join(map(str, values))}}};\n"
