"""Which builds suit a machine, told from what was found on it."""

from __future__ import annotations

import pytest

from mosaic.bundles.accelerators import (
    AcceleratorSigns,
    accelerator_here,
    choose_accelerator,
    stand_ins,
    why_instead,
)
from mosaic.contracts.bundles import Accelerator

OPEN_DRIVER = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build"
OLD_DRIVER = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 2024"


@pytest.mark.parametrize(
    ("signs", "accelerator"),
    [
        (AcceleratorSigns(), Accelerator.CPU),
        (AcceleratorSigns(nvidia_smi=True), Accelerator.CPU),  # a program without a GPU
        (AcceleratorSigns(nvidia_smi=True, nvidia_device=True), Accelerator.CUDA),
        (AcceleratorSigns(nvidia_version=OPEN_DRIVER), Accelerator.CUDA),
        (AcceleratorSigns(nvidia_version=OLD_DRIVER, nvidia_smi=True), Accelerator.CPU),
        (AcceleratorSigns(nvidia_version="unknown"), Accelerator.CUDA),
        (AcceleratorSigns(kfd=True), Accelerator.ROCM),
        (AcceleratorSigns(kfd=True, nvidia_version=OPEN_DRIVER), Accelerator.CUDA),
    ],
)
def test_builds_are_chosen_by_the_driver(signs: AcceleratorSigns, accelerator: Accelerator) -> None:
    assert choose_accelerator(signs).accelerator is accelerator


def test_a_driver_that_is_too_old_is_said() -> None:
    choice = choose_accelerator(AcceleratorSigns(nvidia_version=OLD_DRIVER))
    assert choice.why == "The NVIDIA driver is 535; CUDA builds need 580 or newer."


def test_this_machine_has_one() -> None:
    assert accelerator_here() in Accelerator


@pytest.mark.parametrize(
    ("suitable", "taken"),
    [
        (Accelerator.CPU, (Accelerator.CUDA,)),
        (Accelerator.CUDA, (Accelerator.CPU,)),
        (Accelerator.ROCM, (Accelerator.CPU, Accelerator.CUDA)),
    ],
)
def test_what_works_everywhere_stands_in_the_smaller_first(
    suitable: Accelerator, taken: tuple[Accelerator, ...]
) -> None:
    assert stand_ins(suitable) == taken
    for item in taken:
        assert why_instead(item, "nobody made it").endswith(": nobody made it.")
