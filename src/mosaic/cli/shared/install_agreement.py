"""What a run needs and is not installed: shown with its size, asked about, and agreed to.

Nothing is fetched that nobody has seen the size of, and never more than that.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mosaic.cli.shared.terminal import confirmed, printable, say_to_stderr
from mosaic.contracts.bundles import VenvInfo, VenvState
from mosaic.errors import BundleError
from mosaic.front.bundle_words import install_words
from mosaic.front.human import size

if TYPE_CHECKING:
    from argparse import Namespace

QUESTION = "Install it now?"
# The others have a problem that an install does not solve.
_CAN_BE = (VenvState.ABSENT, VenvState.INSTALLING, VenvState.BROKEN)


def can_ask(as_json: bool) -> bool:
    """Whether somebody sees a question, and can answer it."""
    return not as_json and sys.stdin.isatty() and sys.stdout.isatty()


class RunInstalls:
    """What may be installed for the runs of one command: asked once, however many runs."""

    def __init__(self, *, is_wanted: bool = False, is_given: bool = False, as_json: bool = False):
        self._is_wanted = is_wanted  # --install
        self._is_given = is_given  # --yes
        self._as_json = as_json
        self._agreed: dict[str, int] = {}

    @classmethod
    def of(cls, arguments: Namespace) -> RunInstalls:
        return cls(is_wanted=arguments.install, is_given=arguments.yes, as_json=arguments.json)

    @property
    def for_dry_run(self) -> dict[str, Any]:
        """What a dry run is told: with --install, what is missing stands in nobody's way."""
        return {"install": True} if self._is_wanted else {}

    @property
    def agreed(self) -> dict[str, Any]:
        """What a submission is told; nothing before anybody has agreed."""
        if not self._agreed:
            return {}
        return {"install": True, "most_install_bytes": sum(self._agreed.values())}

    @property
    def looks_first(self) -> bool:
        """With --install what is missing is looked for before it is in the way: a run may go
        without some of it."""
        return self._is_wanted and not self._agreed

    def ask(self, missing: Sequence[VenvInfo], error: BundleError | None = None) -> None:
        """Returns where it may be tried (again) as `agreed` says; raises where it may not.

        `error`: why the run was refused, if it was.
        """
        sizes = {info.name: info.fetch_bytes for info in missing}
        can_be = missing and all(info.state in _CAN_BE for info in missing)
        if not can_be or sizes.items() <= self._agreed.items():
            if error is not None:
                raise error
            return
        is_asked = can_ask(self._as_json) and not (self._is_wanted and self._is_given)
        if error is not None and not is_asked and not self._is_wanted:
            raise BundleError(error.message, hint=self._hint(missing), **error.details)
        if not self._as_json:
            say_missing(missing)
        if is_asked and not confirmed(QUESTION, yes_is_usual=True):
            raise BundleError(
                "Nothing was started or installed",
                hint="answer y, or run it without --install" if error is None else error.hint,
                bundle=missing[0].name,
            )
        self._agreed |= sizes

    def _hint(self, missing: Sequence[VenvInfo]) -> str:
        fetched = size(sum(info.fetch_bytes for info in missing))
        commands = " and ".join(f"`mosaic bundles install {info.name}`" for info in missing)
        return (
            f"add --install to have it installed first (at most {fetched} to fetch), or {commands}"
        )


def say_missing(missing: Sequence[VenvInfo]) -> None:
    say_to_stderr("This needs what is not installed yet:")
    for info in missing:
        say_to_stderr(f"  {printable(install_words(info))}")
