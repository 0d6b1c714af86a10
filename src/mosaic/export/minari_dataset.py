"""Recorded episodes as a Minari dataset, for offline learning.

The export folder is a folder of datasets: with MINARI_DATASETS_PATH set to it, `load_dataset` finds
the one in it. Values are stored as they are, pictures too: Minari would make lossy JPEGs of them.
"""

from __future__ import annotations

import errno
import os
import re
import shlex
import shutil
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic.contracts.run_record import RunRecord
from mosaic.errors import DependencyError, RequestError
from mosaic.export.destination import new_export
from mosaic.export.run_rows import (
    Exported,
    LeftOutEpisode,
    OnProgress,
    PlayedEpisode,
    RowCount,
    export_details,
    ignore_progress,
)

if TYPE_CHECKING:
    from mosaic.export.minari_spaces import Spaces

# For what HDF5 writes beside the values.
ROOM_TO_SPARE_BYTES = 1_048_576
_LARGEST_NUMBER_BYTES = 8
_INT64_MAX = 2**63 - 1


def export_minari(
    record: RunRecord,
    episodes: Iterable[PlayedEpisode | LeftOutEpisode],
    folder: Path,
    *,
    force: bool = False,
    on_progress: OnProgress = ignore_progress,
) -> Exported:
    check_minari()
    dataset_id = name_of_dataset(record)
    count = RowCount(on_progress, {"episodes": 0, "steps": 0})
    left_out: list[str] = []
    with new_export(folder, export_details(record, "minari"), force) as destination:
        data = destination.folder / dataset_id / "data"
        data.mkdir(parents=True)
        dataset = _Dataset(data, dataset_id, record)
        for episode in episodes:
            note = dataset.add(episode)
            if note:
                left_out.append(f"episode {episode.episode_index}: {note}")
            if isinstance(episode, PlayedEpisode) and note in ("", episode.note):
                count.add("episodes", 1)
                count.add("steps", len(episode.actions))
        if not count.rows["episodes"]:
            reason = f": {left_out[0]}" if left_out else ""
            raise RequestError(
                f"{record.run_name} has no episode for a dataset{reason}",
                hint="`mosaic replay RUN` shows what can be played again",
                left_out=left_out,
            )
        destination.about.update(rows=count.rows, dataset_id=dataset_id, left_out=left_out)
    variable = shlex.quote(f"MINARI_DATASETS_PATH={folder}")
    advice = f"set {variable} for minari.load_dataset({dataset_id!r})"
    return Exported(folder, count.rows, tuple(left_out), advice)


def check_minari() -> None:
    try:
        import h5py  # noqa: F401
        import minari  # noqa: F401
    except ImportError as error:
        raise DependencyError(
            f"A Minari dataset needs minari and h5py: {error}",
            hint="pip install 'mosaic-rl[minari]'",
            module="minari",
        ) from error


def name_of_dataset(record: RunRecord) -> str:
    """`<environment>/<run>-v0`, of the characters that Minari admits."""
    environment = re.sub(r"[^A-Za-z0-9_-]+", "-", record.env_id).strip("-")[:80]
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", record.run_name).strip("-")[:80]
    # "-v3" at the end would be taken for the version.
    name = re.sub(r"-v\d+$", "", name) or "run"
    return f"{environment}/{name}-v0" if len(environment) > 1 else f"{name}-v0"


class _Dataset:
    """Made when its first episode comes: that one shows what the values look like."""

    def __init__(self, data: Path, dataset_id: str, record: RunRecord) -> None:
        self._data = data
        self._dataset_id = dataset_id
        self._record = record
        self._storage: Any = None
        self._spaces: Spaces | None = None

    def add(self, episode: PlayedEpisode | LeftOutEpisode) -> str:
        """Why the episode is not part of the dataset, or not as a whole; else nothing."""
        if isinstance(episode, LeftOutEpisode):
            return episode.reason
        if not episode.actions:
            return "it has no steps"
        if self._spaces is None:
            self._create(episode)
        assert self._spaces is not None
        try:
            buffer = _buffer(episode, self._spaces)
        except (ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
            return f"its values have another form than those of the first episode ({error})"
        self._check_room(buffer)
        try:
            self._storage.update_episodes([buffer])
        except RuntimeError as error:  # what HDF5 makes of a disk's errors
            raise OSError(errno.EIO, str(error)) from error
        return episode.note

    def _check_room(self, buffer: Any) -> None:
        """Before HDF5 finds out, which leaves it in a state where not even closing works."""
        disk = shutil.disk_usage(self._data)
        if disk.total and disk.free < _size(buffer) + ROOM_TO_SPARE_BYTES:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _create(self, first: PlayedEpisode) -> None:
        import minari
        from minari.dataset.minari_storage import MinariStorage

        from mosaic.export.minari_spaces import spaces_of

        record = self._record
        spaces = self._spaces = spaces_of(record, first)
        self._storage = MinariStorage.new(
            self._data,
            spaces.observation,
            spaces.action,
            spaces.env_spec,
            data_format="hdf5",
            jpeg_encoding=False,
        )
        self._storage.update_metadata(
            {
                "dataset_id": self._dataset_id,
                "minari_version": minari.__version__,
                "algorithm_name": record.worker,
                "description": f"Recorded episodes of the MOSAIC run {record.run_name}"
                f" ({record.run_id}) in {record.env_id}",
            }
        )


def _size(value: Any) -> int:
    """Bytes of all arrays in a buffer, however they are nested."""
    if isinstance(value, dict):
        return sum(map(_size, value.values()))
    if isinstance(value, tuple | list):
        return sum(map(_size, value))
    if is_dataclass(value):
        return sum(_size(getattr(value, part.name)) for part in fields(value))
    return int(getattr(value, "nbytes", _LARGEST_NUMBER_BYTES))


def _buffer(episode: PlayedEpisode, spaces: Spaces) -> Any:
    from minari.data_collector import EpisodeBuffer

    seed = episode.seed
    return EpisodeBuffer(
        # An attribute of an HDF5 file holds 64 bits.
        seed=seed if seed is None or -_INT64_MAX <= seed <= _INT64_MAX else None,
        observations=spaces.stacked(spaces.observation, episode.observations),
        actions=spaces.stacked(spaces.action, episode.actions),
        rewards=episode.rewards,
        terminations=episode.terminations,
        truncations=episode.truncations,
    )
