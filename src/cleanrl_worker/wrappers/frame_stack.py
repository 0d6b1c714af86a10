"""The last frames of a game as one image: grey, 84 x 84, newest last, as CleanRL's networks take
them. `PixelEnv` gives that view of any environment that shows large pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import cv2
import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from cleanrl_worker.wrappers.prepared import Conversion, PreparedEnv

SIDE = 84
Image = NDArray[np.uint8]


class FrameStack:
    def __init__(self, size: int) -> None:
        self.frames: Image = np.zeros((size, SIDE, SIDE), np.uint8)
        self.space = spaces.Box(0, 255, self.frames.shape, np.uint8)

    def push(self, grey_screen: Image) -> Image:
        """Always a new array: callers keep the old ones."""
        frames = np.empty_like(self.frames)
        frames[:-1] = self.frames[1:]
        _shrink(grey_screen, frames[-1])
        self.frames = frames
        return frames

    def fill(self, grey_screen: Image) -> Image:
        """A new episode begins: its first frame stands for those before it."""
        frames = np.empty_like(self.frames)
        _shrink(grey_screen, frames[0])
        frames[1:] = frames[0]
        self.frames = frames
        return frames


def _shrink(grey_screen: Image, target: Image) -> None:
    cv2.resize(grey_screen, (SIDE, SIDE), dst=target, interpolation=cv2.INTER_AREA)


class PixelEnv(PreparedEnv):
    """For environments that show RGB pictures. Own state: `elapsed_steps` and the frames."""

    def __init__(
        self, env: gymnasium.Env[Any, Any], frame_stack: int, max_episode_steps: int | None = None
    ) -> None:
        self.stack = FrameStack(frame_stack)
        super().__init__(env, Conversion(self.stack.space, None), max_episode_steps)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        picture, info = super().reset(seed=seed, options=options)
        return self.stack.fill(_grey(picture)), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        picture, reward, terminated, truncated, info = super().step(action)
        return self.stack.push(_grey(picture)), reward, terminated, truncated, info

    def snapshot_state(self) -> dict[str, Any]:
        return {**super().snapshot_state(), "frames": self.stack.frames.copy()}

    def restore_state(self, state: Mapping[str, Any]) -> None:
        super().restore_state(state)
        self.stack.frames = np.array(state["frames"], np.uint8)


def _grey(picture: Image) -> Image:
    return np.asarray(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), np.uint8)
