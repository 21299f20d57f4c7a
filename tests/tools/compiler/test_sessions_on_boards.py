# SPDX-License-Identifier: BSD-2-Clause
"""Sessions on virtual boards of every core: what goes over the link beside a run changes no result,
and a run takes little of the line."""

import numpy as np
import pytest

from quintet import compile_model, open_target
from quintet.firmware import digits
from quintet.gateware.isa.files import load_archive
from quintet.tools.compiler.backends import backend_names
from quintet.tools.compiler.session import Session
from quintet.tools.compiler.session.runs import Transfer

pytest.importorskip("onnx")
pytestmark = pytest.mark.long
COUNT = 6


def requests(layout):
    """Requests for a tensor: at most 512 bytes each, of one run."""
    found = [] if layout.in_program else Transfer(None, None, None).requests(layout)
    return sum(
        -(-size // 512)
        for size in [request.run * request.count for request in found]
        or [layout.end - layout.first]
    )


@pytest.mark.parametrize("network", ["mlp", "cnn"])
@pytest.mark.parametrize("isa", backend_names())
def test_link_beside_the_core(isa, network):
    calibration = load_archive(digits.FOLDER / "digits.npz")["calibration"]
    target = f"sim:ulx3s-85f/{isa}"
    made = compile_model(str(digits.FOLDER / f"{network}.onnx"), target, calibration=calibration)
    found, cycles = {}, {}
    for overlap in (True, False):
        with Session(made.plan, open_target(target), overlap=overlap) as session:
            found[overlap], report = session(digits.images(COUNT)), session.report
        cycles[overlap] = report.cycles
        assert report.overlapped == overlap
        # Registers, the start, one look at the core, without double-buffered copies the counters as
        # well; a request for a tensor has 15 bytes beside 512 of data, and its frame 4 more
        # (docs/how/link.md).
        steps = made.plan.core_steps
        tensors = [
            p.layout
            for step in steps
            for placed in (step.lowered.inputs, step.lowered.outputs)
            for p in placed.values()
        ]
        most = COUNT * ((150 if overlap else 220) * len(steps) + 19 * sum(map(requests, tensors)))
        assert report.sent_bytes - report.input_bytes < most, (
            report.sent_bytes,
            report.input_bytes,
            most,
        )
        print(
            isa,
            network,
            overlap,
            report.sent_bytes / COUNT,
            report.input_bytes / COUNT,
            report.received_bytes / COUNT,
            report.output_bytes / COUNT,
        )
    assert np.array_equal(found[True], found[False])
    with made.open(f"model:{isa}") as session:
        assert np.array_equal(session(digits.images(COUNT)), found[True])
    # The link takes of main memory's time what its bytes take; the first run, which may load
    # weights, stands for none in turns.
    assert cycles[True] < 2 * cycles[False]
