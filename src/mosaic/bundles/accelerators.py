"""Which builds of torch and JAX suit this machine."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from mosaic.contracts.bundles import Accelerator

# The driver that the CUDA 13 builds in the locks need; with an older one they see no GPU.
LEAST_NVIDIA_DRIVER = 580
_NVIDIA_VERSION = Path("/proc/driver/nvidia/version")
# Builds that work on every machine, the smaller first: torch and JAX for CUDA compute on the
# processor where there is no GPU. Those for ROCm do not.
_EVERYWHERE = {
    Accelerator.CPU: "the CPU build, which does not use the graphics card",
    Accelerator.CUDA: "the CUDA build, which is larger and works without an NVIDIA card as well",
}
_KFD = Path("/dev/kfd")
_NVIDIA_DEVICE = Path("/dev/nvidiactl")
_DRIVER = re.compile(r"Kernel Module\D*?\s(\d+)\.\d+")


@dataclass(frozen=True)
class AcceleratorSigns:
    """What is looked at on a machine."""

    nvidia_smi: bool = False  # the program
    nvidia_device: bool = False  # what the driver makes, and containers pass on
    nvidia_version: str = ""  # what the driver says about itself; empty where it cannot be read
    kfd: bool = False  # the device of AMD's driver for computing

    @property
    def nvidia_driver(self) -> int | None:
        match = _DRIVER.search(self.nvidia_version)
        return int(match[1]) if match else None


@dataclass(frozen=True)
class AcceleratorChoice:
    accelerator: Accelerator
    why: str  # a sentence


def choose_accelerator(signs: AcceleratorSigns) -> AcceleratorChoice:
    if signs.nvidia_version or (signs.nvidia_smi and signs.nvidia_device):
        driver = signs.nvidia_driver
        if driver is not None and driver < LEAST_NVIDIA_DRIVER:
            return AcceleratorChoice(
                Accelerator.CPU,
                f"The NVIDIA driver is {driver}; CUDA builds need {LEAST_NVIDIA_DRIVER} or newer.",
            )
        return AcceleratorChoice(Accelerator.CUDA, "An NVIDIA GPU with its driver was found.")
    if signs.kfd:
        return AcceleratorChoice(Accelerator.ROCM, "An AMD GPU with its driver was found.")
    return AcceleratorChoice(Accelerator.CPU, "No GPU with a driver was found.")


def stand_ins(suitable: Accelerator) -> tuple[Accelerator, ...]:
    """What can be taken where there are no builds for the one that suits the machine."""
    return tuple(item for item in _EVERYWHERE if item is not suitable)


def why_instead(taken: Accelerator, reason: str) -> str:
    """The sentence about a stand-in; `reason`: why there is no build that suits the machine."""
    return f"This is {_EVERYWHERE[taken]}: {reason}."


def signs_here() -> AcceleratorSigns:
    try:
        version = _NVIDIA_VERSION.read_text(encoding="utf-8", errors="replace")
    except OSError:
        version = ""
    return AcceleratorSigns(
        nvidia_smi=shutil.which("nvidia-smi") is not None,
        nvidia_device=_NVIDIA_DEVICE.exists(),
        nvidia_version=version,
        kfd=_KFD.exists(),
    )


def accelerator_here() -> Accelerator:
    return choose_accelerator(signs_here()).accelerator
