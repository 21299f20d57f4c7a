# SPDX-License-Identifier: BSD-2-Clause
"""The compiler from Python: one function, a plan that opens itself."""
import numpy as np

from .onnx_import import import_onnx
from .planning import Options, compile_graph
from .session import check_inputs
from .target_build import target_build

__all__ = ["compile_model"]


def compile_model(model, target, *, calibration=None, preset=None, params=None, bits=None, equalise=True, percentile=None, host_steps=False):
    """Compile a trained network for a target.

    Parameters
    ----------
    model : path of an ONNX model
    target : ``board/isa``, ``sim:board/isa``, ``model:isa`` or a port
    calibration : inputs to quantise for, the first axis counts them: an array, or a dict by the names of the inputs where there are several; without it
        random ones, with a note in ``notes`` of the plan
    preset, params : sizes, where the target leaves them open
    bits, equalise, percentile, host_steps : see :class:`~.planning.Options`

    Returns
    -------
    Plan
        ``open()`` gives a :class:`~.session.Session` on the target, ``save(folder)`` writes it.

    Raises
    ------
    OnnxError, PartitionError, LoweringError, InputError
    """
    build, graph = target_build(target, preset, params), import_onnx(model)
    if calibration is not None:
        given = calibration if isinstance(calibration, dict) else {graph.inputs[0].name: np.asarray(calibration)}
        calibration = check_inputs(graph.name, graph.inputs, given)
    return compile_graph(graph, build, calibration, Options(bits, equalise, percentile, host_steps))
