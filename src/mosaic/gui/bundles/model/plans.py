"""Plans: what an install, a removal or a tidying up would do, before somebody agrees to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mosaic.contracts.bundles import Accelerator, InstallRequest, VenvInfo, VenvState
from mosaic.front.bundle_words import accelerator_word, build_words
from mosaic.front.human import amount, size
from mosaic.gui.bundles.model.rows import one_line

_FEWEST_BUILDS = 2
_MOST_NAMES, _LONGEST_NAME = 4, 72
_SOURCE = "from the package index that pip uses here, or the bundle's own"


class BuildChoice(NamedTuple):
    """One accelerator that a bundle can be installed for."""

    accelerator: Accelerator
    text: str


@dataclass(frozen=True)
class Plan:
    title: str
    rows: tuple[tuple[str, str], ...]
    yes: str
    note: str = ""
    is_harmful: bool = False
    # Of an install: exactly what is agreed to; of a removal: its name. Neither: of a tidying up.
    request: InstallRequest | None = None
    removed: str = ""


def build_choices(variants: Sequence[VenvInfo]) -> list[BuildChoice]:
    """Those that can be had; empty where there is nothing to choose."""
    able = [
        BuildChoice(
            item.accelerator, f"{accelerator_word(item.accelerator)} · {size(item.fetch_bytes)}"
        )
        for item in variants
        if item.state is not VenvState.UNAVAILABLE
    ]
    return able if len(able) >= _FEWEST_BUILDS else []


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
        note=info.note,
        request=InstallRequest(
            info.name,
            info.accelerator if is_one_of_several else None,
            most_bytes=info.fetch_bytes,
        ),
    )


def removal_plan(info: VenvInfo) -> Plan:
    rows = [("Freed", size(freed_bytes([info])))]
    if info.shared_bytes:
        rows.append(("Kept", f"{size(info.shared_bytes)} that other venvs hold as well"))
    if info.path:
        rows.append(("Removed", info.path))
    return Plan(
        title=f"Remove {_name(info)}?",
        rows=tuple(rows),
        yes="Remove",
        removed=info.name,
        note="Runs that need it ask for the install again. Runs, checkpoints and recordings stay.",
        is_harmful=True,
    )


def prune_plan(infos: Sequence[VenvInfo]) -> Plan:
    """`infos`: those that would go."""
    names = list(dict.fromkeys(map(_name, infos)))
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return Plan(
        title=f"Remove {amount(len(infos), 'venv')} that nothing needs any more?",
        rows=(
            ("Freed", size(freed_bytes(infos))),
            ("Removed", f"venvs of older locks: {', '.join(names[:_MOST_NAMES])}{more}"),
            ("Kept", "every venv that a run uses, or would be started in"),
        ),
        yes="Remove",
        is_harmful=True,
    )


def freed_bytes(infos: Iterable[VenvInfo]) -> int:
    """Without what other venvs hold as well: at least this much."""
    return sum(max(0, info.disk_bytes - info.shared_bytes) for info in infos)


def _name(info: VenvInfo) -> str:
    """Short enough to leave the buttons in sight."""
    name = one_line(info.title) or info.name
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
