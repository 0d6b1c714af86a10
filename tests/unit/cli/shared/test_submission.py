"""Starting a run from a terminal: what is shown, what counts as a yes, what an interrupt says."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from mosaic.cli.shared.submission import confirm, submit_and_report, with_consent
from mosaic.client import TrainerClient
from mosaic.contracts.consent import Consent, consent_error
from mosaic.errors import ConsentError

NEEDED = Consent(("command: \x1b[2Jx.py", "variable: PATH=/x"))


class Daemon:
    """Does something once it is given the digest of what it needs then."""

    def __init__(self, *needed: Consent) -> None:
        self._needed = list(needed)
        self.given: list[str] = []

    def act(self, granted: Sequence[str]) -> str:
        consent = granted[-1] if granted else ""
        self.given.append(consent)
        if self._needed and consent != self._needed[0].digest:
            raise consent_error(self._needed[0], consent, "It")
        return "done"

    def change(self) -> None:
        self._needed.pop(0)


def test_what_needs_no_consent_is_not_asked_about(capsys: pytest.CaptureFixture[str]) -> None:
    assert with_consent(Daemon().act, is_given=False) == "done"
    assert capsys.readouterr().err == ""


def test_without_a_terminal_the_flag_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    daemon = Daemon(NEEDED)
    with pytest.raises(ConsentError) as refused:
        with_consent(daemon.act, is_given=False)
    assert "--yes" in refused.value.hint
    assert daemon.given == [""]
    shown = capsys.readouterr().err
    assert "x.py" in shown and "PATH=/x" in shown and "\x1b" not in shown


def test_the_flag_is_for_exactly_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    daemon = Daemon(NEEDED)
    assert with_consent(daemon.act, is_given=True) == "done"
    assert daemon.given == ["", NEEDED.digest]
    assert "PATH=/x" in capsys.readouterr().err


@pytest.mark.parametrize(("answer", "is_granted"), [("y", True), ("", False), ("no", False)])
def test_on_a_terminal_it_is_asked(
    monkeypatch: pytest.MonkeyPatch, answer: str, is_granted: bool
) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda prompt: answer)
    if is_granted:
        confirm(NEEDED, is_given=False, question="Start it?")
    else:
        with pytest.raises(ConsentError):
            confirm(NEEDED, is_given=False, question="Start it?")


def test_what_changed_between_question_and_answer_is_asked_about_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = Consent(("command: y.py",))
    daemon = Daemon(NEEDED, other)

    def answer(prompt: str) -> str:
        daemon.change()
        return "y" if len(daemon.given) == 1 else "n"

    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", answer)
    with pytest.raises(ConsentError, match="Nothing was started"):
        with_consent(daemon.act, is_given=False)
    assert daemon.given == ["", NEEDED.digest]


def test_what_needs_several_consents_has_all_of_them_in_the_end() -> None:
    both = {NEEDED.digest, Consent(("command: y.py",)).digest}

    def act(granted: Sequence[str]) -> str:
        for needed in (NEEDED, Consent(("command: y.py",))):
            if needed.digest not in granted:
                raise consent_error(needed, None, "An episode")
        assert set(granted) == both
        return "done"

    assert with_consent(act, is_given=True) == "done"


def test_a_consent_that_does_not_help_is_not_asked_for_twice(
    capsys: pytest.CaptureFixture[str],
) -> None:
    needed = [NEEDED, Consent(("command: y.py",))]

    def act(granted: Sequence[str]) -> str:
        needed.reverse()
        raise consent_error(needed[0], None, "It")

    with pytest.raises(ConsentError):
        with_consent(act, is_given=True)
    assert capsys.readouterr().err.count("y.py") == 1


def test_another_kind_of_refusal_is_passed_on() -> None:
    def act(granted: Sequence[str]) -> str:
        raise ConsentError("Deleting runs needs a confirmation")

    with pytest.raises(ConsentError, match="Deleting"):
        with_consent(act, is_given=True)


class Interrupted:
    """Ctrl-C at the moment somebody looks at it."""

    def __iter__(self) -> Any:
        raise KeyboardInterrupt


def submitted(submit: Any) -> int:
    client = cast(TrainerClient, SimpleNamespace(submit=submit))
    return submit_and_report(client, {}, dry_run=False, follow=True, as_json=False)


def test_an_interrupt_after_the_run_was_accepted_says_that_it_goes_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    accepted = SimpleNamespace(run_id="01RUN", preflight=Interrupted())
    assert submitted(lambda config, consent=None: accepted) == 130
    said = capsys.readouterr().err
    assert "the run goes on" in said and "mosaic stop 01RUN" in said


def test_an_interrupt_before_the_answer_says_where_to_look(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def submit(config: Any, consent: Any = None) -> Any:
        raise KeyboardInterrupt

    assert submitted(submit) == 130
    assert "`mosaic runs` says whether" in capsys.readouterr().err
