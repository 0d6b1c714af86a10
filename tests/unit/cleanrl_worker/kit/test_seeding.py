"""Seeds, threads and devices: repeatable, within the machine, and refused when impossible."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from cleanrl_worker.arguments import Arguments
from cleanrl_worker.kit.seeding import choose_device, choose_threads, seed_everything
from mosaic.errors import ConfigError


@pytest.fixture(autouse=True)
def torch_settings_stay() -> Iterator[None]:
    threads = torch.get_num_threads()
    cudnn = torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark
    yield
    torch.set_num_threads(threads)
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = cudnn


def draw() -> tuple[Any, ...]:
    return random.random(), np.random.rand(), torch.rand(1).item()


@pytest.mark.parametrize("seed", [0, 1, 2**32, 2**40 + 7, 2**100])
def test_equal_seeds_draw_equal_numbers(seed: int) -> None:
    seed_everything(seed, deterministic=True)
    first = draw()
    seed_everything(seed, deterministic=True)
    assert draw() == first
    seed_everything(seed + 1, deterministic=True)
    assert all(one != other for one, other in zip(draw(), first, strict=True))


@pytest.mark.parametrize("deterministic", [True, False])
def test_gpu_kernels_are_deterministic_on_request(deterministic: bool) -> None:
    seed_everything(1, deterministic)
    assert torch.backends.cudnn.deterministic is deterministic
    assert torch.backends.cudnn.benchmark is not deterministic


@pytest.mark.parametrize(
    ("asked", "default", "cpus", "expected"),
    [(0, 1, 8, 1), (0, 4, 8, 4), (0, 16, 2, 2), (3, 1, 2, 3), (0, 0, 2, 1)],
)
def test_threads_as_asked_or_as_many_as_make_sense(
    asked: int, default: int, cpus: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(cpus)))
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert choose_threads(Arguments(threads=asked), default) == expected
    assert torch.get_num_threads() == expected


def test_the_cpu_is_the_default_even_beside_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device(Arguments()).type == "cpu"
    assert choose_device(Arguments(cuda=True)).type == "cuda"


def test_a_gpu_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError, match="no usable GPU") as caught:
        choose_device(Arguments(cuda=True))
    assert caught.value.details == {"field": "cuda"}
    assert "CPU" in caught.value.hint


@pytest.mark.parametrize(
    ("told", "asked", "expected"), [("1", 0, 1), ("2", 0, 2), ("1", 4, 4), ("2,1", 0, 8)]
)
def test_no_more_threads_than_the_run_was_given_cpus(
    told: str, asked: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)))
    monkeypatch.setenv("OMP_NUM_THREADS", told)
    assert choose_threads(Arguments(threads=asked), default=8) == expected
