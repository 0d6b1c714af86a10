"""CUDA graphs: a function of tensors, recorded once on the GPU and replayed with one launch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

WARM_UPS = 3

Function = Callable[..., Tensor]


def graphed(
    function: Function, example_inputs: Sequence[Tensor], changes: Sequence[Tensor] = ()
) -> Function:
    """`function` as a graph: same inputs' shapes, no synchronisation, no memory it did not own.

    Warming up runs the function for real, so `changes` names the tensors it alters in place
    (weights, moments, counters); they get their values back. The result of a call is overwritten
    by the next one. Raises RuntimeError when the function cannot be captured.
    """
    inputs = [example.clone() for example in example_inputs]
    with torch.no_grad():
        before = [tensor.clone() for tensor in changes]
    stream = torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    stream.wait_stream(torch.cuda.current_stream())
    try:
        with torch.cuda.stream(stream):
            for _ in range(WARM_UPS):
                function(*inputs)
        torch.cuda.current_stream().wait_stream(stream)
        with torch.cuda.graph(graph, stream=stream):
            output = function(*inputs)
    finally:
        torch.cuda.current_stream().wait_stream(stream)
        with torch.no_grad():
            for tensor, value in zip(changes, before, strict=True):
                tensor.copy_(value)

    def replay(*values: Tensor) -> Tensor:
        for static, value in zip(inputs, values, strict=True):
            static.copy_(value, non_blocking=True)
        graph.replay()
        return output

    return replay
