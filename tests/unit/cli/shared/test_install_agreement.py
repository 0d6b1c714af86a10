"""What a run needs and is not installed: who is asked, what counts as a yes, how much it is for."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any, cast

import pytest

from mosaic.cli.shared.install_agreement import RunInstalls
from mosaic.cli.shared.submission import submit_with_consent
from mosaic.client import TrainerClient
from mosaic.contracts.bundles import VenvInfo, VenvState
from mosaic.errors import BundleError
from mosaic.wire.answers import Submission

MISSING = VenvInfo(
    *("learner+atari", "Learners with Atari", "", VenvState.ABSENT), fetch_bytes=212_000_000
)
OTHER = VenvInfo("old", "Old scripts", "", VenvState.ABSENT, fetch_bytes=8_000_000)
REFUSED = BundleError("learner+atari is not installed", hint="install it", bundle="learner+atari")


class Daemon:
    """Accepts a run once all that is missing may be installed; some of it is seen late."""

    def __init__(self, *missing: tuple[VenvInfo, ...]) -> None:
        self._missing = list(missing)
        self.submitted: list[dict[str, Any]] = []

    def submit(
        self,
        config: Any,
        dry_run: bool = False,
        consent: str | None = None,
        install: bool = False,
        most_install_bytes: int | None = None,
    ) -> Submission:
        missing = self._missing[0] if self._missing else ()
        if dry_run:
            return Submission("", False, "", (), (), missing=missing)
        self.submitted.append({"install": install, "most": most_install_bytes})
        needed = sum(info.fetch_bytes for info in missing)
        if missing and not (install and (most_install_bytes or 0) >= needed):
            raise REFUSED
        return Submission("01RUN", True, "", (), ())

    def change(self) -> None:
        self._missing.pop(0)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)


def start(daemon: object, **options: bool) -> str:
    installs = RunInstalls(**options)
    client = cast(TrainerClient, daemon)
    return submit_with_consent(client, {}, installs=installs).run_id


def answering(monkeypatch: pytest.MonkeyPatch, *answers: str) -> list[str]:
    left, asked = list(answers), []

    def answer(question: str) -> str:
        asked.append(question)
        return left.pop(0)

    monkeypatch.setattr("builtins.input", answer)
    return asked


def test_what_is_all_there_is_not_asked_about(capsys: pytest.CaptureFixture[str]) -> None:
    daemon = Daemon()
    assert start(daemon, is_wanted=True) == "01RUN"
    assert daemon.submitted == [{"install": False, "most": None}]
    assert capsys.readouterr().err == ""


def test_without_a_terminal_the_option_is_named_with_the_size() -> None:
    daemon = Daemon((MISSING,))
    with pytest.raises(BundleError, match="not installed") as refused:
        start(daemon)
    assert "--install" in refused.value.hint and "212 MB" in refused.value.hint
    assert "mosaic bundles install learner+atari" in refused.value.hint
    assert refused.value.details == {"bundle": "learner+atari"}


def test_what_a_run_can_do_without_is_installed_where_that_is_wanted() -> None:
    class Lenient(Daemon):
        def __init__(self) -> None:
            super().__init__()
            self.looks = 0

        def submit(
            self,
            config: Any,
            dry_run: bool = False,
            consent: str | None = None,
            install: bool = False,
            most_install_bytes: int | None = None,
        ) -> Submission:
            self.looks += dry_run
            done = super().submit(config, dry_run, consent, install, most_install_bytes)
            return replace(done, missing=(OTHER,) if dry_run else ())

    daemon = Lenient()
    assert start(daemon) == "01RUN"
    assert daemon.submitted == [{"install": False, "most": None}] and daemon.looks == 0
    assert start(daemon, is_wanted=True) == "01RUN"
    assert daemon.submitted[1:] == [{"install": True, "most": 8_000_000}]


def test_without_a_terminal_the_option_is_the_agreement_to_what_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    daemon = Daemon((MISSING, OTHER))
    assert start(daemon, is_wanted=True) == "01RUN"
    assert daemon.submitted[-1] == {"install": True, "most": 220_000_000}
    said = capsys.readouterr().err
    assert "Learners with Atari" in said and "212 MB" in said and "Old scripts" in said


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("is_wanted", [True, False])
def test_on_a_terminal_it_is_offered_and_enter_means_yes(
    monkeypatch: pytest.MonkeyPatch, is_wanted: bool
) -> None:
    asked = answering(monkeypatch, "")
    daemon = Daemon((MISSING,))
    assert start(daemon, is_wanted=is_wanted) == "01RUN"
    assert asked == ["Install it now? [Y/n] "]
    assert daemon.submitted[-1] == {"install": True, "most": 212_000_000}


@pytest.mark.usefixtures("terminal")
def test_whoever_says_no_has_started_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, "n")
    daemon = Daemon((MISSING,))
    with pytest.raises(BundleError, match="Nothing was started"):
        start(daemon)
    assert len(daemon.submitted) == 1


@pytest.mark.usefixtures("terminal")
def test_yes_alone_agrees_to_no_install(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answering(monkeypatch, "n")
    with pytest.raises(BundleError):
        start(Daemon((MISSING,)), is_given=True)
    assert len(asked) == 1


@pytest.mark.usefixtures("terminal")
def test_install_with_yes_asks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answering(monkeypatch)
    assert start(Daemon((MISSING,)), is_wanted=True, is_given=True) == "01RUN"
    assert asked == []


@pytest.mark.usefixtures("terminal")
def test_nothing_is_asked_beside_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = answering(monkeypatch)
    with pytest.raises(BundleError):
        start(Daemon((MISSING,)), as_json=True)
    assert start(Daemon((MISSING,)), as_json=True, is_wanted=True) == "01RUN"
    assert asked == [] and capsys.readouterr().err == ""


@pytest.mark.usefixtures("terminal")
def test_what_grew_between_question_and_answer_is_asked_about_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    daemon = Daemon((MISSING,), (MISSING, OTHER))

    def answer(question: str) -> str:
        if len(daemon.submitted) == 1:
            daemon.change()
        return "y"

    monkeypatch.setattr("builtins.input", answer)
    assert start(daemon) == "01RUN"
    assert [item["most"] for item in daemon.submitted] == [None, 212_000_000, 220_000_000]


def test_what_an_install_does_not_help_with_is_said_as_it_is() -> None:
    class Stubborn:
        def submit(self, config: Any, **options: Any) -> Submission:
            if options.get("dry_run"):
                return Submission("", False, "", (), (), missing=(MISSING,))
            raise REFUSED

    with pytest.raises(BundleError) as refused:
        start(Stubborn(), is_wanted=True)
    assert refused.value is REFUSED


def test_what_has_no_lock_is_not_offered() -> None:
    nowhere = VenvInfo("jax", "JAX", "", VenvState.UNAVAILABLE, problem="no lock")
    with pytest.raises(BundleError) as refused:
        start(Daemon((nowhere,)), is_wanted=True)
    assert refused.value is REFUSED


def test_what_is_damaged_is_made_again(capsys: pytest.CaptureFixture[str]) -> None:
    daemon = Daemon((replace(MISSING, state=VenvState.BROKEN, problem="it was changed"),))
    assert start(daemon, is_wanted=True) == "01RUN"
    assert daemon.submitted == [{"install": True, "most": 212_000_000}]
    assert "damaged, and made again" in capsys.readouterr().err


def test_several_runs_are_asked_about_once(monkeypatch: pytest.MonkeyPatch, terminal: None) -> None:
    asked = answering(monkeypatch, "y")
    daemon, installs = Daemon((MISSING,)), RunInstalls()
    for _ in range(3):
        submit_with_consent(cast(TrainerClient, daemon), {}, installs=installs)
    assert len(asked) == 1
