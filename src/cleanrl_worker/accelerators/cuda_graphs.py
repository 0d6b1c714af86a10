"""CUDA graphs: a function of tensors, recorded once on the GPU and replayed with one launch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from cleanrl_worker.kit.session import Session

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


def graphed_later(function: Function, changes: Sequence[Tensor]) -> Function:
    """`function` as a graph that is recorded with the inputs of its first call."""
    graph: Function | None = None

    def replay(*values: Tensor) -> Tensor:
        nonlocal graph
        if graph is None:
            graph = graphed(function, values, changes)
        return graph(*values)

    return replay


def first_graph(
    candidates: list[tuple[Function, str]],
    example: Tensor,
    changes: tuple[Tensor, ...],
    note: Callable[[str], None],
) -> Function:
    """The first candidate that can be captured as a graph, else the last one as it is."""
    for function, name in candidates:
        try:
            return graphed(function, [example], changes)
        except RuntimeError as error:
            reason = str(error).strip().partition("\n")[0]
            note(f"{name} is not possible here, going on without it: {reason}")
    return candidates[-1][0]


def record_graphs_if_wanted(record: Callable[[], None], session: Session) -> None:
    """After `session.register`: the graphs then start from the state of the checkpoint.

    A graph that cannot be recorded is never a reason to fail.
    """
    if session.device.type != "cuda" or not session.arguments.compile:
        return
    try:
        record()
    except RuntimeError as error:
        reason = str(error).strip().partition("\n")[0]
        session.note(f"CUDA graphs are not possible here, going on without them: {reason}")
    else:
        session.note("updates and acting are replayed as CUDA graphs")
