"""The card of one bundle: what it is, what is wrong with it, and what can be done."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from mosaic.contracts.bundles import InstallProgress, VenvInfo, VenvState
from mosaic.front.bundle_words import TimeLeft, build_words, bytes_words, disk_words, phase_words
from mosaic.front.human import age, size
from mosaic.gui.bundles.model.rows import has_failed, one_line

_COMMAND = "`mosaic bundles install"


class BundleAction(StrEnum):
    INSTALL = "install"
    RETRY = "retry"
    AGAIN = "install-again"
    CANCEL = "cancel"
    VERIFY = "verify"
    REMOVE = "remove"


ACTION_TEXTS = {
    BundleAction.INSTALL: "Install…",
    BundleAction.RETRY: "Retry",
    BundleAction.AGAIN: "Install again…",
    BundleAction.CANCEL: "Cancel the install",
    BundleAction.VERIFY: "Verify",
    BundleAction.REMOVE: "Remove…",
}
# The one that Return starts, where it is offered.
PRIMARY = frozenset({BundleAction.INSTALL, BundleAction.RETRY, BundleAction.AGAIN})


@dataclass(frozen=True)
class CardText:
    name: str
    title: str
    about: str
    facts: str
    problem: str = ""
    advice: str = ""
    path: str = ""
    actions: tuple[BundleAction, ...] = ()
    progress: InstallProgress | None = None


def card_of(info: VenvInfo, now: float | None = None) -> CardText:
    failed, progress = has_failed(info), info.progress
    problem, advice = info.problem, info.hint
    if failed and progress is not None:
        problem, advice = progress.message or "The install failed", progress.hint
    return CardText(
        name=info.name,
        title=one_line(info.title) or info.name,
        about=one_line(info.about),
        facts=_facts(info, now),
        problem=_ended(problem),  # it may begin with the name of a package
        # A command for a terminal is no use beside a button that does the same.
        advice=info.note if advice.startswith(_COMMAND) else sentence(advice) or info.note,
        path=info.path if info.state in (VenvState.INSTALLED, VenvState.BROKEN) else "",
        actions=_actions(info, failed),
        progress=progress if info.state is VenvState.INSTALLING else None,
    )


def _actions(info: VenvInfo, failed: bool) -> tuple[BundleAction, ...]:
    match info.state:
        case VenvState.ABSENT:
            return (BundleAction.RETRY if failed else BundleAction.INSTALL,)
        case VenvState.INSTALLING:
            return (BundleAction.CANCEL,)
        case VenvState.INSTALLED:
            return (BundleAction.VERIFY, BundleAction.REMOVE)
        case VenvState.BROKEN:
            return (BundleAction.AGAIN, BundleAction.REMOVE)
        case _:
            return ()


def _facts(info: VenvInfo, now: float | None) -> str:
    match info.state:
        case VenvState.PRESENT:
            return "All it needs is installed beside MOSAIC itself: there is nothing to do"
        case VenvState.UNAVAILABLE:
            return ""
        case VenvState.ABSENT | VenvState.INSTALLING:
            parts = [to_fetch(info), _on_disk(info), build_words(info)]
        case _:
            shared = f"{size(info.shared_bytes)} of it shared" if info.shared_bytes else ""
            parts = [_on_disk(info), shared, build_words(info), *_times(info, now)]
    return " · ".join(part for part in parts if part)


def to_fetch(info: VenvInfo) -> str:
    return f"{size(info.fetch_bytes)} to fetch" if info.fetch_bytes else "nothing to fetch"


def _on_disk(info: VenvInfo) -> str:
    words = disk_words(info)
    return f"{words} on disk" if words else ""


def _times(info: VenvInfo, now: float | None) -> list[str]:
    told = [] if info.installed_at is None else [f"installed {age(info.installed_at, now)}"]
    used = "never used" if info.used_at is None else f"used {age(info.used_at, now)}"
    return [*told, used]


def sentence(text: str) -> str:
    plain = text.strip()
    return _ended(plain[:1].upper() + plain[1:])


def _ended(text: str) -> str:
    plain = text.strip()
    return plain if not plain or plain.endswith((".", "!", "?", "…")) else f"{plain}."


class InstallTexts:
    """What is said of an install while it goes on; one of these for each that is followed."""

    def __init__(self, left: TimeLeft | None = None) -> None:
        self._left = left or TimeLeft()

    def happening(self, progress: InstallProgress, is_online: bool = True) -> str:
        if not is_online:
            return "The daemon does not answer; it goes on, or begins again, with the daemon"
        words = phase_words(progress)
        return words[:1].upper() + words[1:]

    def amounts(self, progress: InstallProgress) -> str:
        """`130 MB of 212 MB · 82 MB left · 12 s left`"""
        missing = max(0, progress.total_bytes - progress.done_bytes)
        to_come = f"{size(missing)} left" if progress.total_bytes and missing else ""
        parts = (bytes_words(progress), to_come, self._left.words(progress))
        return " · ".join(part for part in parts if part)
