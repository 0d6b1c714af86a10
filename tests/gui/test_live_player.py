"""What is drawn ahead, and what becomes of changes that make no picture; without a process."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from mosaic.fastlane.tiling import Picture
from mosaic.gui.live import natural_player
from mosaic.gui.live.model.natural import NaturalPicture
from mosaic.gui.live.natural_player import NaturalPlayer
from mosaic.replay.changes import Box, Change
from mosaic.replay.pace import Pace
from mosaic.replay.stretches import StretchStep
from tests.replay_samples import recording_of
from tests.waiting import wait_until

PACE = Pace(100.0, 1)
WHOLE = Change(2, 1, Box(0, 0, 2, 1), b"abcdef")
A_FEW = 5  # under way in a thread
DOT = Change(2, 1, Box(1, 0, 1, 1), b"xyz")


class Drawn:
    """Instead of the helper process: these changes, and the last one for ever."""

    def __init__(self, changes: list[Change]) -> None:
        self.changes, self.taken = changes, 0

    def play(self, *_: object) -> Iterator[StretchStep]:
        while True:
            change = self.changes[min(self.taken, len(self.changes) - 1)]
            self.taken += 1
            yield StretchStep(change, self.taken, 0.0, True, 1000, PACE)

    def kill(self) -> None:
        pass

    def close(self) -> None:
        pass


Play = Callable[..., tuple[Drawn, list[Picture], list[str], NaturalPlayer]]


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Iterator[Play]:
    players: list[NaturalPlayer] = []

    def begun(
        changes: list[Change], is_held: bool = False
    ) -> tuple[Drawn, list[Picture], list[str], NaturalPlayer]:
        drawn, shown, failures = Drawn(changes), list[Picture](), list[str]()
        monkeypatch.setattr(natural_player, "StretchPlayer", lambda *_, **__: drawn)

        def show(_: NaturalPicture, picture: Picture) -> None:
            shown.append(picture)

        player = NaturalPlayer(lambda: None, show, failures.append)
        players.append(player)
        player.hold(is_held)
        player.start()
        recording = recording_of(5)
        player.give(recording, recording.episode)
        return drawn, shown, failures, player

    yield begun
    for player in players:
        player.end()
        assert player.join(10.0)


def test_changes_become_whole_pictures(play: Play) -> None:
    _, shown, failures, _ = play([WHOLE, DOT])
    wait_until(lambda: len(shown) >= 2)
    assert shown[:2] == [Picture(2, 1, b"abcdef"), Picture(2, 1, b"abcxyz")]
    assert not failures


def test_it_draws_some_seconds_ahead_and_goes_on_when_a_quarter_is_shown(play: Play) -> None:
    most = int(4 * PACE.steps_per_second)
    drawn, shown, _, player = play([WHOLE, DOT], is_held=True)
    wait_until(lambda: drawn.taken > most)
    player.hold(False)
    wait_until(lambda: drawn.taken > most + A_FEW)
    assert len(shown) >= most // 4 - A_FEW


@pytest.mark.parametrize(
    "changes",
    [[DOT], [WHOLE, Change(9, 9, Box(0, 0, 1, 1), b"abc")], [Change(2, 1, WHOLE.box, b"")]],
)
def test_changes_that_make_no_picture_are_told_in_a_sentence(
    play: Play, changes: list[Change]
) -> None:
    _, _, failures, player = play(changes)
    wait_until(lambda: bool(failures))
    assert "do not fit together" in failures[0]
    assert player.join(10.0)
