# SPDX-License-Identifier: BSD-2-Clause
"""Training with quantisation in the loop: a float classifier in ONNX learns to live with a core's
numbers, and becomes a model with the scales that the core takes. It learns the scores that the
float network gives for the training inputs, so that labels are not needed. Needs PyTorch:
`pip install torch`.

Without arguments it takes the digits' network. With your own:

    python training.py net.onnx --for ulx3s-85f/opu --train X.npy --test X2.npy --labels Y2.npy
"""

import argparse
from pathlib import Path

import numpy as np
import onnx
import torch
import torch.nn.functional as functional
from onnx import TensorProto, helper, numpy_helper

from quintet import compile_model
from quintet.tools.compiler.arrays import load_inputs, load_labels
from quintet.tools.compiler.backends import backend_class
from quintet.tools.compiler.evaluate import run_graph
from quintet.tools.compiler.fidelity import reference_tensors
from quintet.tools.compiler.graph import (
    Activation,
    AveragePool,
    Binary,
    Concat,
    Conv,
    Dense,
    Graph,
    MaxPool,
    Reshape,
    Softmax,
)
from quintet.tools.compiler.onnx_import import import_onnx
from quintet.tools.compiler.passes import simplify
from quintet.tools.compiler.plan import HostStep, Plan
from quintet.tools.compiler.values import check_inputs, from_graph, to_graph

#: Inputs of a step of training.
BATCH = 32
#: Channels that a core adds up before it saturates, where it saturates at all.
BLOCK = 64


def rounded(values: torch.Tensor) -> torch.Tensor:
    """Nearest whole numbers, with the gradient of the identity."""
    return values + (values.round() - values).detach()


def spatial(padding: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    """Padding (top, left, bottom, right) in PyTorch's order."""
    top, left, bottom, right = padding
    return left, right, top, bottom


class Loop(torch.nn.Module):
    """A network in the numbers of a core, as its quantiser begins; maps are channels, rows, columns
    here. Weights and biases are counted in steps of their grids.

    Parameters
    ----------
    plan : of the network, compiled without training
    """

    def __init__(self, plan: Plan):
        super().__init__()
        if len(plan.core_steps) != 1:
            raise SystemExit(f"{len(plan.core_steps)} programs: expected one")
        part = plan.core_steps[0].part
        backend = backend_class(plan.isa)(params=plan.params, memory_size=plan.memory_size)
        self.graph, self.scales, self.inputs, self.outputs = (
            part.graph,
            part.scales,
            plan.inputs,
            plan.outputs,
        )
        if any(port.offset is not None for port in plan.inputs):
            raise SystemExit("the input has an offset: expected one around zero")
        self.soft = any(
            isinstance(node, Softmax)
            for step in plan.steps
            if isinstance(step, HostStep)
            for node in step.graph.nodes
        )
        self.arithmetic = {
            node.name: backend.arithmetic(part.graph, node) for node in part.graph.nodes
        }
        self.number, self.steps = {}, []
        self.weights, self.biases = torch.nn.ParameterList(), torch.nn.ParameterList()
        for node in part.graph.nodes:
            if isinstance(node, Conv | Dense):
                self._enter(node, part.layers[node.name])
        self.last = part.graph.nodes[-1].output
        self.by_tap = False

    def _enter(self, node, integer) -> None:
        """Adds the weights and biases of a layer, as the quantiser has rounded them."""
        self.number[node.name] = len(self.steps)
        weights = integer.weights.astype(np.float32)
        weights = weights.transpose(0, 3, 1, 2) if isinstance(node, Conv) else weights
        shift = np.broadcast_to(np.ravel(integer.shift), len(weights)).astype(np.float64)
        unit = self.scales[node.output].step * 2.0**-shift
        bias = 0.0 if integer.bias is None else integer.bias * 2.0**integer.bias_shift * unit
        bias = np.broadcast_to(bias / self.scales[node.output].step, len(weights))
        step = (unit / self.scales[node.inputs[0]].step).reshape(-1, *[1] * (weights.ndim - 1))
        self.steps.append(torch.tensor(step, dtype=torch.float32))
        self.weights.append(torch.tensor(np.ascontiguousarray(weights)))
        self.biases.append(torch.tensor(bias, dtype=torch.float32))

    def tensor(self, name: str, values: torch.Tensor) -> torch.Tensor:
        """A tensor's values, as the core holds them."""
        scale = self.scales[name]
        return rounded((values / scale.step).clamp(scale.low, scale.high)) * scale.step

    def whole(self, node: Conv | Dense) -> torch.Tensor:
        """Weights of a layer as whole numbers."""
        most = 2.0 ** (self.arithmetic[node.name].weight_bits - 1) - 1
        return rounded(self.weights[self.number[node.name]].clamp(-most, most))

    def bias(self, node: Conv | Dense) -> torch.Tensor:
        """Biases of a layer."""
        return self.biases[self.number[node.name]] * self.scales[node.output].step

    def layer(self, node: Conv | Dense, x: torch.Tensor) -> torch.Tensor:
        """Sums of a layer, before its activation."""
        weights, bias = self.whole(node) * self.steps[self.number[node.name]], self.bias(node)
        if isinstance(node, Dense):
            if not node.steps:
                x = (x.permute(0, 2, 3, 1) if x.dim() == 4 else x).flatten(1)
            return functional.linear(x, weights, bias)
        x = functional.pad(x, spatial(node.padding))
        numbers = self.arithmetic[node.name]
        if numbers.partial_bits is None or node.groups > 1 or not self.by_tap:
            return functional.conv2d(x, weights, bias, node.stride, 0, node.dilation, node.groups)
        # Sums saturate at every tap, at the range of the result.
        limit = 2.0 ** (numbers.partial_bits - 1 - numbers.partial_shifted)
        limit *= self.scales[node.output].step
        (down, across), (far, apart) = node.stride, node.dilation
        rows = (x.shape[2] - (weights.shape[2] - 1) * far - 1) // down + 1
        columns = (x.shape[3] - (weights.shape[3] - 1) * apart - 1) // across + 1
        sums = bias[None, :, None, None]
        for low in range(0, weights.shape[1], BLOCK):
            for r in range(weights.shape[2]):
                for c in range(weights.shape[3]):
                    seen = x[:, low : low + BLOCK, r * far :, c * apart :]
                    seen = seen[:, :, : (rows - 1) * down + 1 : down]
                    seen = seen[:, :, :, : (columns - 1) * across + 1 : across]
                    tap = weights[:, low : low + BLOCK, r, c]
                    sums = sums + torch.einsum("nchw,oc->nohw", seen, tap)
                    sums = sums.clamp(-limit, limit)
        return sums

    def run_node(self, node, values: dict[str, torch.Tensor]) -> torch.Tensor:
        """A node's result, without the core's rounding."""
        x = values[node.inputs[0]]
        if isinstance(node, Conv | Dense):
            x = self.layer(node, x)
        elif isinstance(node, Binary) and node.function == "add":
            x = x + values[node.inputs[1]]
        elif isinstance(node, MaxPool):
            x = functional.pad(x, spatial(node.padding), value=-1e9)
            x = functional.max_pool2d(x, node.window, node.stride, dilation=node.dilation)
        elif isinstance(node, AveragePool):
            x = functional.avg_pool2d(
                functional.pad(x, spatial(node.padding)), node.window, node.stride
            )
            if node.bias is not None:
                x = x + torch.tensor(node.bias, dtype=torch.float32).reshape(-1, 1, 1)
        elif isinstance(node, Concat):
            x = torch.cat([values[name] for name in node.inputs], 1)
        elif isinstance(node, Reshape):
            return _reshaped(x, node.shape)
        elif not isinstance(node, Activation):
            raise SystemExit(f"{node.name}: no training for {node.kind}")
        act = node if isinstance(node, Activation) else getattr(node, "activation", None)
        if act is None:
            return x
        if act.function not in ("relu", "clip"):
            raise SystemExit(f"{node.name}: no training for {act.function}")
        return x.relu() if act.function == "relu" else x.clamp(act.low, act.high)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scores of inputs."""
        values = {self.graph.inputs[0].tensor: self.tensor(self.graph.inputs[0].tensor, x)}
        for node in self.graph.nodes:
            values[node.output] = self.tensor(node.output, self.run_node(node, values))
        return values[self.last]


def _reshaped(x, shape):
    """A reshape, which counts rows, columns, channels."""
    if x.dim() == 4:
        x = x.permute(0, 2, 3, 1)
    x = x.reshape(len(x), *shape)
    return x.permute(0, 3, 1, 2) if x.dim() == 4 else x


class Writer:
    """Writes a trained network as ONNX, with QuantizeLinear and DequantizeLinear on every tensor
    that the core computes."""

    def __init__(self, loop: Loop):
        self.loop, self.nodes, self.constants = loop, [], []
        # The network's ends have these names, whose numbers are none of a core's yet.
        self.ends = {port.name for port in (*loop.inputs, *loop.outputs)}

    def held(self, tensor: str) -> str:
        """Name of a tensor of the graph, as the core holds it."""
        return f"{tensor}_held" if tensor in self.ends else tensor

    def constant(self, name: str, array: np.ndarray) -> str:
        """Adds a constant and returns its name."""
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def add(self, operator: str, operands: list[str], name: str, **attributes) -> str:
        """Adds a node with one result and returns the result's name."""
        self.nodes.append(helper.make_node(operator, operands, [name], **attributes))
        return name

    def on_grid(self, tensor: str, real: str) -> None:
        """Quantises the tensor ``real``, as ``tensor``."""
        kind, step = f"int{self.loop.scales[tensor].bits}", self.loop.scales[tensor].step
        scale = self.constant(f"{tensor}_scale", np.float32(step))
        zero = self.constant(f"{tensor}_zero", np.zeros((), kind))
        whole = self.add("QuantizeLinear", [real, scale, zero], f"{tensor}_whole")
        self.add("DequantizeLinear", [whole, scale, zero], self.held(tensor))

    def weights(self, node: Conv | Dense) -> list[str]:
        """Weights of a layer as whole numbers with a scale, and its biases."""
        whole, name = self.loop.whole(node), node.name
        step = self.loop.steps[self.loop.number[name]]
        operands = [
            self.constant(f"{name}_whole", whole.detach().numpy().astype(np.int8)),
            self.constant(f"{name}_scale", step.numpy().ravel().astype(np.float32)),
            self.constant(f"{name}_zero", np.zeros(len(whole), np.int8)),
        ]
        bias = self.loop.bias(node).detach().numpy()
        return [
            self.add("DequantizeLinear", operands, f"{name}_weights", axis=0),
            self.constant(f"{name}_bias", bias),
        ]

    def node(self, node) -> None:
        """Adds a node of the graph with its activation."""
        operands, real = [self.held(name) for name in node.inputs], f"{node.output}_real"
        attributes = {}
        operator = {"binary": "Add", "concat": "Concat", "maxpool": "MaxPool"}.get(node.kind)
        if isinstance(node, Conv):
            operator, operands = "Conv", [operands[0], *self.weights(node)]
            attributes = {"dilations": node.dilation, "group": node.groups}
        elif isinstance(node, Dense):
            operator, attributes = "Gemm", {"transB": 1}
            operands = [self.flat(node.inputs[0]), *self.weights(node)]
        elif isinstance(node, AveragePool):
            operator = "AveragePool"
            attributes = {"kernel_shape": node.window, "count_include_pad": 1}
        elif isinstance(node, MaxPool):
            attributes = {"kernel_shape": node.window, "dilations": node.dilation}
        elif isinstance(node, Concat):
            attributes = {"axis": 1}
        elif isinstance(node, Reshape):
            self.shaped(self.flat(node.inputs[0]), node)
            return
        if isinstance(node, Conv | AveragePool | MaxPool):
            attributes |= {"strides": node.stride, "pads": node.padding}
        act = node if isinstance(node, Activation) else getattr(node, "activation", None)
        if operator is not None:
            self.add(operator, operands, real, **attributes)
        else:
            real = operands[0]
        if isinstance(node, AveragePool) and node.bias is not None:
            bias = np.float32(node.bias).reshape(-1, 1, 1)
            operands = [real, self.constant(f"{node.name}_bias", bias)]
            real = self.add("Add", operands, f"{node.output}_moved")
        if act is not None and act.function == "clip":
            limits = [
                self.constant(f"{node.name}_{at}", np.float32(value))
                for at, value in enumerate((act.low, act.high))
            ]
            real = self.add("Clip", [real, *limits], f"{node.output}_clipped")
        elif act is not None:
            real = self.add("Relu", [real], f"{node.output}_positive")
        self.on_grid(node.output, real)

    def shaped(self, flat: str, node: Reshape) -> None:
        """Adds a reshape of a vector."""
        shape = self.constant(f"{node.name}_shape", np.array([-1, *node.shape], np.int64))
        last = self.add("Reshape", [flat, shape], f"{node.name}_last")
        if len(node.shape) == 3:
            self.add("Transpose", [last], self.held(node.output), perm=[0, 3, 1, 2])
        else:
            self.add("Identity", [last], self.held(node.output))

    def flat(self, tensor: str) -> str:
        """A map as a vector, in the order rows, columns, channels."""
        if len(self.loop.graph.shape(tensor)) < 3:
            return self.held(tensor)
        last = self.add("Transpose", [self.held(tensor)], f"{tensor}_last", perm=[0, 2, 3, 1])
        return self.add("Flatten", [last], f"{tensor}_flat", axis=1)

    def save(self, path: Path) -> None:
        """Writes the model."""
        graph, port, output = self.loop.graph, self.loop.inputs[0], self.loop.outputs[0]
        here = port.name
        if len(port.order) == 3:
            order = [0, *(port.order[axis] + 1 for axis in (2, 0, 1))]
            here = self.add("Transpose", [here], f"{port.name}_channels", perm=order)
        self.on_grid(port.tensor, here)
        for node in graph.nodes:
            self.node(node)
        last = self.held(self.loop.last)
        if graph.outputs[0].factor is not None or graph.outputs[0].offset is not None:
            raise SystemExit("the host changes the scores: expected them as the core has them")
        self.add("Softmax" if self.loop.soft else "Identity", [last], output.name)

        def described(name, shape):
            return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["inputs", *shape])

        model = helper.make_model(
            helper.make_graph(
                self.nodes,
                graph.name,
                [described(port.name, port.shape)],
                [described(output.name, output.shape)],
                self.constants,
            ),
            opset_imports=[helper.make_opsetid("", 21)],
        )
        model.ir_version = 10
        onnx.checker.check_model(model)
        onnx.save(model, path)


def train(loop: Loop, x: torch.Tensor, wanted: torch.Tensor, arguments: argparse.Namespace) -> None:
    """Trains a network to give the scores ``wanted`` of the float network for the inputs ``x``."""
    rng = np.random.default_rng(1)
    optimiser = torch.optim.Adam(loop.parameters(), lr=arguments.rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, arguments.steps)
    for number in range(arguments.steps):
        some = rng.choice(len(x), min(BATCH, len(x)), replace=False)
        found, exact = loop(x[some]), wanted[some]
        loss = functional.kl_div(
            found.log_softmax(1), exact.log_softmax(1), log_target=True, reduction="batchmean"
        )
        loss = loss + 0.1 * (found - exact).square().mean() / wanted.var()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        if number % 50 == 0 or number == arguments.steps - 1:
            print(f"step {number}: loss {float(loss.detach()):.5f}", flush=True)


def scores_of(graph: Graph, tensor: str, values: np.ndarray) -> np.ndarray:
    """Scores of the float network, before a softmax, for ``values`` of its input."""
    found = run_graph(graph, {tensor: values}, keep=True)
    last = graph.maker(graph.outputs[0].tensor)
    return found[last.inputs[0] if isinstance(last, Softmax) else last.output]


def right(plan: Plan, data: dict[str, np.ndarray]) -> int:
    """Right answers of a plan, by the core's reference in plain numpy."""
    given = check_inputs(plan.network, plan.inputs, {plan.inputs[0].name: data["test"]})
    port = plan.outputs[0]
    scores = from_graph(port, reference_tensors(plan, given)[1][port.tensor])
    return int((scores.argmax(1) == data["labels"]).sum())


def parsed() -> argparse.Namespace:
    """Arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("model", nargs="?", default="example:digits/cnn.onnx")
    parser.add_argument("--for", dest="target", default="ulx3s-85f/opu")
    parser.add_argument("--train", default="example:digits/digits.npz:calibration")
    parser.add_argument("--test", default="example:digits/digits.npz:images")
    parser.add_argument("--labels", default="example:digits/digits.npz:labels")
    parser.add_argument("--mirror", action="store_true", help="learn mirrored maps as well")
    parser.add_argument("--by-tap", action="store_true", help="sums that saturate at every tap")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--rate", type=float, default=0.02, help="in steps of the weights' grid")
    parser.add_argument("--out", type=Path, default=Path("trained.onnx"))
    return parser.parse_args()


def main() -> None:
    arguments = parsed()
    graph = simplify(import_onnx(arguments.model))
    port = graph.inputs[0]
    data = {
        name: load_inputs([getattr(arguments, name)], [port], f"--{name}")[port.name]
        for name in ("train", "test")
    }
    data["labels"] = load_labels(arguments.labels, len(data["test"]))
    exact = scores_of(graph, port.tensor, to_graph(port, data["test"])).argmax(1)
    print(f"floating point: {(exact == data['labels']).sum()} of {len(exact)} right")
    plan = compile_model(arguments.model, arguments.target, calibration=data["train"]).plan
    print(f"quantised: {right(plan, data)} right", flush=True)
    loop = Loop(plan)
    loop.by_tap = arguments.by_tap
    values = to_graph(port, data["train"])
    if arguments.mirror:
        values = np.concatenate([values, values[:, :, ::-1]])
    x, wanted = (
        torch.tensor(np.ascontiguousarray(array), dtype=torch.float32)
        for array in (values, scores_of(graph, port.tensor, values))
    )
    train(loop, x.permute(0, 3, 1, 2) if x.dim() == 4 else x, wanted, arguments)
    Writer(loop).save(arguments.out)
    plan = compile_model(arguments.out, arguments.target, calibration=data["train"]).plan
    print(f"quantised and trained: {right(plan, data)} right")


if __name__ == "__main__":
    main()
