from __future__ import annotations

from pathlib import Path

import pytest

from mosaic.contracts.process_recording import Place, index_name, parse_places
from mosaic.watch import watching
from mosaic.watch.messages import Episode, Episodes, parse_message
from mosaic.watch.watching import EpisodeIndex


class Said(list[str]):
    """What people were told."""

    def __call__(self, text: str) -> bool:
        self.append(text)
        return True


def places(folder: Path) -> list[Place]:
    return list(parse_places((folder / index_name(2)).read_bytes()))


def test_episodes_that_follow_each_other_share_a_row(tmp_path: Path) -> None:
    said = Said()
    index = EpisodeIndex(tmp_path, 2, said)
    for episode, process, number, count in (
        *((0, 7, 0, 1), (1, 7, 1, 1), (2, 7, 2, 500)),
        *((502, 8, 0, 1), (503, 7, 502, 1), (504, 7, 504, 1)),
    ):
        index.add(Place(episode, process, number, count))
    index.flush()
    index.flush()
    assert places(tmp_path) == [(0, 7, 0, 502), (502, 8, 0, 1), (503, 7, 502, 1), (504, 7, 504, 1)]
    index.add(Place(505, 7, 505, 1))
    index.flush()
    assert places(tmp_path)[-1] == (505, 7, 505, 1)
    assert not said


def test_a_folder_that_is_gone_and_an_index_that_is_full_are_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = Said()
    gone = EpisodeIndex(tmp_path / "gone", 2, said)
    for _ in range(2):
        gone.add(Place(0, 7, 0, 1))
        gone.flush()
    assert len(said) == 1
    monkeypatch.setattr(watching, "MAX_BYTES", 40)
    full = EpisodeIndex(tmp_path, 2, said)
    for episode in range(3):
        full.add(Place(episode, 7, 0, 1))
        full.flush()
    assert len(places(tmp_path)) == 1
    assert "too large" in said[1]


def test_a_damaged_row_is_left_out(tmp_path: Path) -> None:
    index = EpisodeIndex(tmp_path, 2, lambda text: True)
    for episode in range(3):
        index.add(Place(episode, episode, 0, 1))
    index.flush()
    path = tmp_path / index_name(2)
    data = bytearray(path.read_bytes())
    data[33] ^= 1
    path.write_bytes(data + b"the beginning of a row")
    assert [place.first_episode for place in places(tmp_path)] == [0, 2]


def test_messages_say_where_an_episode_is_recorded() -> None:
    one = parse_message(b'{"kind":"episode","return":1,"process":17,"number":4}')
    assert one == Episode(1.0, process=17, number=4)
    many = parse_message(b'{"kind":"episodes","count":3,"mean_return":1,"process":17,"number":5}')
    assert many == Episodes(3, 1.0, 0.0, 1.0, 17, 5)
    assert parse_message(b'{"kind":"episode","return":1,"process":-1}') is None
