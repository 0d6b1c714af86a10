"""Following an install: what is shown of it, how its end is told, and what Ctrl-C does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mosaic.cli.shared.install_view import PlainInstall, follow_install
from mosaic.contracts.bundles import InstallPhase, InstallProgress
from mosaic.errors import BundleError, TrainerUnreachableError

FETCHING = InstallProgress(InstallPhase.FETCHING, "numpy", 5_000_000, 20_000_000, 0.25)
DONE = InstallProgress(InstallPhase.DONE, fraction=1.0)
FAILED = InstallProgress(InstallPhase.FAILED, message="The disk is full", hint="free 2 GB")


def interrupted() -> Iterator[InstallProgress]:
    yield FETCHING
    raise KeyboardInterrupt


def test_plain_lines_say_phase_share_and_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    assert follow_install([FETCHING, DONE], "learner", False, None) == 0
    out = capsys.readouterr().out
    assert out.split() == ["25", "%", "fetching", "numpy", "5.0", "MB", "of", "20.0", "MB"]


def test_a_phase_is_said_once_within_the_interval(capsys: pytest.CaptureFixture[str]) -> None:
    view = PlainInstall(interval_s=60.0)
    for progress in (FETCHING, FETCHING, InstallProgress(InstallPhase.TESTING, "numpy"), DONE):
        view.show(progress)
    assert [line.split()[2] for line in capsys.readouterr().out.splitlines()] == [
        "fetching",
        "testing",
    ]


def test_a_name_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    PlainInstall().show(InstallProgress(InstallPhase.FETCHING, "\x1b[2Jx"))
    assert "\x1b" not in capsys.readouterr().out


def test_nothing_is_shown_beside_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert follow_install([FETCHING, DONE], "learner", True, None) == 0
    assert capsys.readouterr().out == ""


def test_a_failure_is_an_error_with_its_own_hint() -> None:
    with pytest.raises(BundleError, match="The disk is full") as failed:
        follow_install([FETCHING, FAILED], "learner", False, None)
    assert failed.value.hint == "free 2 GB"
    assert failed.value.details["bundle"] == "learner"


@pytest.mark.parametrize("steps", [[], [FETCHING]])
def test_a_stream_that_ends_early_is_no_success(steps: list[InstallProgress]) -> None:
    with pytest.raises(BundleError, match="did not say how"):
        follow_install(steps, "learner", False, None)


def test_what_somebody_else_canceled_says_how_to_start_it_again() -> None:
    steps = [FETCHING, InstallProgress(InstallPhase.CANCELED)]
    with pytest.raises(BundleError, match="canceled") as canceled:
        follow_install(steps, "learner", False, None)
    assert "mosaic bundles install learner" in canceled.value.hint


def test_ctrl_c_cancels_what_this_command_has_begun(capsys: pytest.CaptureFixture[str]) -> None:
    calls = []

    def cancel() -> bool:
        calls.append("cancel")
        return True

    assert follow_install(interrupted(), "learner", False, cancel) == 130
    assert calls == ["cancel"]
    assert "Canceled: nothing of learner was installed" in capsys.readouterr().err


def test_ctrl_c_after_the_end_says_where_to_look(capsys: pytest.CaptureFixture[str]) -> None:
    assert follow_install(interrupted(), "learner", False, lambda: False) == 130
    assert "`mosaic bundles` says what became of" in capsys.readouterr().err


def test_ctrl_c_lets_the_install_of_somebody_else_go_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert follow_install(interrupted(), "learner", False, None) == 130
    said = capsys.readouterr().err
    assert "goes on in the daemon" in said and "mosaic bundles cancel learner" in said


def test_an_install_that_cannot_be_canceled_is_said_to_go_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def cancel() -> bool:
        raise TrainerUnreachableError("No daemon answers")

    assert follow_install(interrupted(), "learner", False, cancel) == 130
    said = capsys.readouterr().err
    assert "No daemon answers" in said and "goes on" in said
