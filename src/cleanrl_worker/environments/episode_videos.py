"""EpisodeVideos: some episodes of one environment as MP4 files, more of them early in training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium

from cleanrl_worker.kit.video import VideoWriter

_EVERY = 1000
_DEFAULT_FPS = 30.0


def is_filmed(episode: int) -> bool:
    """0, 1, 8, 27, ... and every thousandth from 1000 on."""
    if episode >= _EVERY:
        return episode % _EVERY == 0
    root: int = round(float(episode) ** (1 / 3))
    return root * root * root == episode


class EpisodeVideos:
    def __init__(self, env: gymnasium.Env[Any, Any], directory: Path) -> None:
        self.episodes = 0  # begun so far
        self._env = env
        self._directory = directory
        self._fps = float(env.metadata.get("render_fps") or _DEFAULT_FPS)
        self._first_frame: Any = None
        self._writer: VideoWriter | None = None

    def begin_episode(self) -> None:
        self.close()
        number = self.episodes
        self.episodes += 1
        if is_filmed(number):
            self._writer = VideoWriter(self._directory / f"episode-{number}.mp4", self._fps)
            # Not yet written: a resumed training resets once before it takes its state back, and
            # must not replace the video of its first episode.
            self._first_frame = self._env.render()

    def add_frame(self) -> None:
        if self._writer is None:
            return
        if self._first_frame is not None:
            self._writer.add(self._first_frame)
            self._first_frame = None
        frame: Any = self._env.render()
        self._writer.add(frame)

    def continue_after(self, episodes: int) -> None:
        """A resumed training goes on counting; the rest of its current episode is not filmed."""
        self.close()
        self.episodes = episodes

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = self._first_frame = None
