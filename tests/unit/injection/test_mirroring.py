from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from mosaic.injection.complaints import Complaints
from mosaic.injection.hooks.gymnasium_compat import IntegerOfOne, RealOfOne, as_before
from mosaic.injection.hooks.mirroring import also, number, whole
from mosaic.injection.hooks.wandb_hooks import flat


def test_scalars_of_all_kinds_are_numbers_and_the_rest_is_none() -> None:
    twos: list[Any] = [2, 2.0, np.float32(2), np.array([2.0]), torch.tensor(2.0)]
    assert [number(value) for value in twos] == [2.0] * len(twos)
    assert number(True) == 1.0
    assert math.isnan(number(float("nan")) or 0.0)
    others: list[Any] = ["2", b"2", None, [2], np.arange(3), torch.arange(3), object()]
    assert [number(value) for value in others] == [None] * len(others)


def test_steps_are_whole_or_none() -> None:
    assert whole(np.int64(7)) == 7
    assert whole(None) is whole(float("nan")) is whole(float("inf")) is whole("x") is None
    assert whole(-1) is whole(2**70) is None, "a count that a run can take, or none"


def test_inner_dictionaries_get_dotted_names() -> None:
    data = {"loss": 1, "train": {"kl": 0.5, "text": "no", "deep": {"er": np.float64(3)}}}
    assert flat(data) == [("loss", 1.0), ("train.kl", 0.5), ("train.deep.er", 3.0)]
    loop: dict[str, Any] = {"x": 1.0}
    loop["self"] = loop
    assert len(flat(loop)) == 5, "a dictionary within itself ends somewhere"


class Writer:
    def __init__(self) -> None:
        self.written: list[int] = []

    def write(self, value: int) -> str:
        self.written.append(value)
        return "done"


def test_mirroring_changes_neither_results_nor_errors(capsys: pytest.CaptureFixture[str]) -> None:
    class Mirrored(Writer):
        pass

    seen: list[tuple[int, int]] = []

    def extra(writer: Writer, value: int) -> None:
        seen.append((value, len(writer.written)))
        raise RuntimeError("ours")

    also(Mirrored, "write", extra, Complaints())
    writer = Mirrored()
    assert [writer.write(3), writer.write(value=4)] == ["done", "done"]
    assert (writer.written, seen) == ([3, 4], [(3, 1), (4, 2)])
    assert capsys.readouterr().err == "mosaic: mirroring write failed (RuntimeError: ours)\n"
    with pytest.raises(TypeError):
        writer.write()  # type: ignore[call-arg]
    assert len(seen) == 2, "a call that failed is not mirrored"


def test_an_episodes_numbers_do_as_numbers_and_as_arrays_of_one() -> None:
    info = {"lives": 0, "episode": {"r": 21.5, "l": 20, "t": 0.1, "other": "kept"}}
    episode = as_before(info)["episode"]
    assert (episode["r"], episode["r"][0], float(episode["r"])) == (21.5, 21.5, 21.5)
    assert (episode["l"], episode["l"][0], episode["l"].item()) == (20, 20, 20)
    assert episode["other"] == "kept"
    assert info["episode"] == {"r": 21.5, "l": 20, "t": 0.1, "other": "kept"}
    assert as_before({"lives": 0}) == {"lives": 0}
    with pytest.raises(IndexError):
        RealOfOne(1.0)[1]
    assert np.asarray(RealOfOne(2.5)).shape == () and np.mean([IntegerOfOne(4)]) == 4.0
