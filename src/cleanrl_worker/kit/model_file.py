"""ModelFile: which modules the `.cleanrl_model` file holds, laid out as CleanRL writes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from mosaic.errors import WorkerError

Weights = dict[str, Tensor]


class ModelFile:
    """One module: its state dict. Several: a tuple of state dicts, in this order.

    With `arguments`, a mapping of `model_weights` and `args`, as CleanRL's C51 reads it.
    """

    def __init__(self, *modules: nn.Module, arguments: Mapping[str, Any] | None = None) -> None:
        self.modules = modules
        self.arguments = arguments

    def payload(self) -> Any:
        states = tuple(
            {name: value.detach().cpu() for name, value in module.state_dict().items()}
            for module in self.modules
        )
        weights = states[0] if len(states) == 1 else states
        if self.arguments is None:
            return weights
        return {"model_weights": weights, "args": plain_arguments(self.arguments)}

    def is_finite(self) -> bool:
        """False when a weight is infinite or not a number: such a file is of no use to anybody."""
        return all(
            bool(value.isfinite().all()) for module in self.modules for value in module.parameters()
        )

    def load(self, payload: Any) -> None:
        """Raises WorkerError naming the weights that do not fit."""
        states = split_payload(payload)
        if len(states) < len(self.modules):
            raise WorkerError(
                f"The checkpoint holds {len(states)} networks, {len(self.modules)} are needed",
                hint="it was saved by another algorithm",
            )
        for module, state in zip(self.modules, states, strict=False):
            try:
                module.load_state_dict(state)
            except RuntimeError as error:
                raise WorkerError(
                    f"The checkpoint does not fit this network: {error}",
                    hint="it was saved for another environment or algorithm",
                ) from error


def plain_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Those a file without pickle can hold: the numbers, texts and switches."""
    return {
        name: value
        for name, value in arguments.items()
        if value is None or isinstance(value, bool | int | float | str)
    }


def split_payload(payload: Any) -> tuple[Weights, ...]:
    """The state dicts in a file of ours or of CleanRL, whose C51 wraps them with its arguments."""
    if isinstance(payload, Mapping) and "model_weights" in payload:
        payload = payload["model_weights"]
    states = payload if isinstance(payload, tuple | list) else (payload,)
    if not all(_is_weights(state) for state in states) or not any(states):
        raise WorkerError(
            "The file holds no network weights",
            hint="a .cleanrl_model file is a state dict, or a tuple of them",
        )
    return tuple(dict(state) for state in states)


def _is_weights(state: Any) -> bool:
    return isinstance(state, Mapping) and all(
        isinstance(name, str) and isinstance(value, Tensor) for name, value in state.items()
    )
