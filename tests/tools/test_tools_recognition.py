# SPDX-License-Identifier: BSD-2-Clause
"""Labels in a job: how many images it recognised, and one line for each way the entry can be
wrong."""

import numpy as np
import pytest

from quintet.tools import Job
from quintet.tools.errors import JobError
from quintet.tools.jobs.recognition import Recognition, recognised_text

#: What the small job saves: int8 [6, 4].
SCORES = np.frombuffer(
    bytes.fromhex("ffff1efbff0000ffff0000ff0b0bfe040ff7fa0896749c0a"), np.int8
).reshape(6, 4)


def labelled(small, labels, more=""):
    np.save(small.folder / "l.npy", labels)
    return small.edit("shape = [6, 4]", f'shape = [6, 4]\nlabels = "l.npy"\n{more}')


def test_rows(quintet, small):
    right = SCORES.argmax(axis=1)
    labelled(small, np.where(np.arange(6) == 2, (right + 1) % 4, right).astype(np.uint8))
    assert quintet("run", small, "--json").json["recognised"] == {
        "y.npy": {"correct": 5, "images": 6}
    }
    assert "\n5 of 6 inputs right (83.3 %)\n" in quintet("run", small).out
    small.append(
        '[[save]]\nfile = "z.npy"\nat = 0x2010\ndtype = "int8"\nshape = [6, 4]\nlabels = "l.npy"\n'
    )
    assert "\ny.npy: 5 of 6 inputs right (83.3 %)\nz.npy: 5 of 6" in quintet("run", small).out


def test_no_labels_and_no_result(quintet, small):
    assert (
        quintet("run", small, "--json").json["recognised"] == {}
        and "recognised" not in quintet("run", small).out
    )
    labelled(small, np.zeros(6, np.uint8)).edit("hostmem_limit = 0x2040", "hostmem_limit = 0x2027")
    ran = quintet("run", small, "--json")
    assert (
        ran.code == 5
        and ran.json["recognised"] == {}
        and "recognised" not in quintet("run", small).out
    )


def test_unpacked(quintet, small):
    """Two blocks of three vectors of four: three images of eight numbers, five of which are
    scores."""
    found = SCORES.reshape(2, 3, 4).transpose(1, 0, 2).reshape(3, 8)[:, :5].argmax(axis=1)
    labelled(
        small, found.astype(">i4"), "unpack = { shape = [2, 3, 4], order = [1, 0, 2], classes = 5 }"
    )
    assert quintet("run", small, "--json").json["recognised"] == {
        "y.npy": {"correct": 3, "images": 3}
    }
    assert Job.load(small.path).saves[0].recognition.scores(
        np.load(small.folder / "y.npy")
    ).shape == (3, 5)


def test_of_an_archive(small):
    np.savez_compressed(small.folder / "l.npz", labels=np.zeros(6, np.int64))
    small.edit("shape = [6, 4]", 'shape = [6, 4]\nlabels = "l.npz:labels"')
    assert Job.load(small.path).saves[0].recognition.labels.tolist() == [0] * 6


@pytest.mark.parametrize(
    "labels, more, words",
    [
        (
            np.zeros(6, np.float32),
            "",
            ['save[0].labels = "l.npy": expected integers of one dimension, not float32 [6]'],
        ),
        (np.zeros((6, 1), np.uint8), "", ["integers of one dimension, not uint8 [6, 1]"]),
        (np.zeros((), np.uint8), "", ["integers of one dimension, not uint8 []"]),
        (
            np.zeros(5, np.uint8),
            "",
            ["a number of labels that divides the 24 elements of save[0], not 5"],
        ),
        # Two labels for each of six images.
        (np.zeros(12, np.uint8), "", ["along the first axes of [6, 4] (1, 6), not 12"]),
        (
            np.zeros(8, np.uint8),
            "unpack = { order = [1, 0] }",
            ["along the first axes of [4, 6] (1, 4), not 8"],
        ),
        (np.zeros(48, np.uint8), "", ["divides the 24 elements", "not 48"]),
        (np.zeros(0, np.uint8), "", ["l.npy is empty"]),
        (np.full(6, 4, np.uint8), "", ["expected classes from 0 to 3, not 4 to 4"]),
        (np.full(6, -1, np.int8), "", ["expected classes from 0 to 3, not -1 to -1"]),
        (
            np.full(6, 3, np.int8),
            "unpack = { classes = 3 }",
            ["expected classes from 0 to 2, not 3 to 3"],
        ),
        (
            np.zeros(6, np.uint8),
            "unpack = { classes = 5 }",
            ["save[0].unpack.classes = 5: expected 1 to 4, the numbers of each of 6 images"],
        ),
        (
            np.zeros(6, np.uint8),
            "unpack = { classes = 0 }",
            ["save[0].unpack.classes = 0: expected 1 to 4"],
        ),
        (
            np.zeros(6, np.uint8),
            "unpack = { classes = 2.0 }",
            ["save[0].unpack.classes = 2.0: expected an integer"],
        ),
        (
            np.zeros(6, np.uint8),
            "unpack = { shape = [6, 5] }",
            ["save[0].unpack.shape = [6, 5]: expected 24 elements in all, as save[0] has"],
        ),
        (
            np.zeros(6, np.uint8),
            "unpack = { shape = [] }",
            ["save[0].unpack.shape = []: expected an array of 1 to 32 integers of at least 1"],
        ),
        (np.zeros(6, np.uint8), "unpack = { shape = [-6, -4] }", ["integers of at least 1"]),
        (
            np.zeros(6, np.uint8),
            f"unpack = {{ shape = {[1] * 33} }}",
            ["save[0].unpack.shape = ...: expected an array of 1 to 32 integers"],
        ),
        (
            np.zeros(6, np.uint8),
            "unpack = { order = [1] }",
            ["save[0].unpack.order = [1]: expected every axis from 0 to 1 once"],
        ),
        (np.zeros(6, np.uint8), "unpack = { order = [0, 0] }", ["every axis from 0 to 1 once"]),
        (np.zeros(6, np.uint8), "unpack = { order = [0, 2] }", ["every axis from 0 to 1 once"]),
        (np.zeros(6, np.uint8), 'unpack = { order = "01" }', ["save[0].unpack.order", "an array"]),
        (np.zeros(6, np.uint8), "unpack = { axis = 1 }", ["save[0].unpack.axis: unknown key"]),
        (np.zeros(6, np.uint8), "unpack = 3", ["save[0].unpack = 3: expected a table"]),
    ],
)
def test_refused(small, labels, more, words):
    with pytest.raises(JobError) as info:
        Job.load(labelled(small, labels, more).path)
    assert str(info.value).startswith(f"{small.path}: save[0]") and "\n" not in str(info.value)
    for word in words:
        assert word in str(info.value), str(info.value)


@pytest.mark.parametrize(
    "old, new, words",
    [
        (
            "shape = [6, 4]",
            'shape = [6, 4]\nlabels = "none.npy"',
            ['save[0].labels = "none.npy": no such file'],
        ),
        ("shape = [6, 4]", "shape = [6, 4]\nlabels = 3", ["save[0].labels = 3: expected a string"]),
        (
            "shape = [6, 4]",
            'shape = [6, 4]\nlabels = "w.bin"',
            ["integers of one dimension, not 5 bytes"],
        ),
        (
            "shape = [6, 4]",
            "shape = [6, 4]\nunpack = { classes = 2 }",
            ["save[0].labels is missing; save[0].unpack says where"],
        ),
        (
            'dtype = "int8"\nshape = [6, 4]',
            'dtype = "complex64"\nshape = [6]\nlabels = "none.npy"',
            ['save[0].dtype = "complex64"', "an order"],
        ),
        ('file = "y.npy"', 'file = "y.bin"\nlabels = "l.npy"', ["save[0].", "unknown key"]),
    ],
)
def test_bad_entries(small, old, new, words):
    (small.folder / "w.bin").write_bytes(bytes(5))
    with pytest.raises(JobError) as info:
        Job.load(small.edit(old, new).path)
    for word in words:
        assert word in str(info.value), str(info.value)


def test_text_and_ties():
    assert recognised_text(531, 540) == "531 of 540 inputs right (98.3 %)"
    assert Recognition(np.array([0, 1])).correct(np.array([[5, 5], [5, 5]])) == 1
