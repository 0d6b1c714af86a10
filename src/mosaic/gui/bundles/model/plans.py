"""Plans: what an install, a removal or a tidying up would do, before somebody agrees to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mosaic.contracts.bundles import Accelerator, InstallRequest, VenvInfo, VenvState
from mosaic.front.bundle_words import accelerator_word, build_words
from mosaic.front.human import size
from mosaic.gui.bundles.model.rows import one_line

_SOURCE = "from the package index that pip uses on this machine"


@dataclass(frozen=True)
class BuildChoice:
    """One accelerator that a bundle can be installed for."""

    accelerator: Accelerator
    text: str
    problem: str = ""  # why it cannot be chosen


@dataclass(frozen=True)
class Plan:
    title: str
    rows: tuple[tuple[str, str], ...]
    yes: str
    note: str = ""
    is_harmful: bool = False
    # Of an install: exactly what is agreed to.
    request: InstallRequest | None = None


def build_choices(variants: Sequence[VenvInfo]) -> list[BuildChoice]:
    """Empty where there is nothing to choose."""
    if len(variants) < 2:
        return []
    return [
        BuildChoice(
            item.accelerator,
            _choice_text(item),
            item.problem if item.state is VenvState.UNAVAILABLE else "",
        )
        for item in variants
    ]


def _choice_text(info: VenvInfo) -> str:
    word = accelerator_word(info.accelerator)
    return word if info.state is VenvState.UNAVAILABLE else f"{word} · {size(info.fetch_bytes)}"


def variant_of(variants: Sequence[VenvInfo], accelerator: Accelerator | None) -> VenvInfo:
    """That of the accelerator; otherwise the first that can be installed."""
    able = [item for item in variants if item.state is not VenvState.UNAVAILABLE] or [*variants]
    return next((item for item in variants if item.accelerator is accelerator), able[0])


def install_plan(info: VenvInfo, folder: str, *, is_one_of_several: bool = False) -> Plan:
    """`folder`: where venvs are kept. The size is what is agreed to: no more is ever fetched."""
    fetched = f"at most {size(info.fetch_bytes)}, {_SOURCE}" if info.fetch_bytes else "nothing"
    rows = [("Fetched", fetched)]
    if info.disk_bytes:
        rows.append(("On disk", f"about {size(info.disk_bytes)}"))
    rows += [("Build", build_words(info)), ("Goes to", info.path or folder)]
    return Plan(
        title=f"Install {_name(info)}?",
        rows=tuple(rows),
        yes=f"Install {size(info.fetch_bytes)}" if info.fetch_bytes else "Install",
        request=InstallRequest(
            info.name,
            info.accelerator if is_one_of_several else None,
            most_bytes=info.fetch_bytes,
        ),
    )


def removal_plan(info: VenvInfo) -> Plan:
    rows = [("Freed", size(max(0, info.disk_bytes - info.shared_bytes)))]
    if info.shared_bytes:
        rows.append(("Kept", f"{size(info.shared_bytes)} that other venvs hold as well"))
    if info.path:
        rows.append(("Removed", info.path))
    return Plan(
        title=f"Remove {_name(info)}?",
        rows=tuple(rows),
        yes="Remove",
        note="Runs that need it ask for the install again. Runs, checkpoints and recordings stay.",
        is_harmful=True,
    )


def prune_plan() -> Plan:
    return Plan(
        title="Remove what nothing needs any more?",
        rows=(
            ("Removed", "venvs of older locks, and what interrupted installs have left"),
            ("Kept", "every venv that a run uses, or would be started in"),
        ),
        yes="Remove them",
        note="How much is freed is told afterwards.",
        is_harmful=True,
    )


def _name(info: VenvInfo) -> str:
    return one_line(info.title) or info.name
