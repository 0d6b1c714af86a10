"""AtariGame: CleanRL's Atari pre-processing as one wrapper that talks to the emulator itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np

from cleanrl_worker.wrappers.frame_stack import FrameStack

FRAME_SKIP = 4
MAX_NOOPS = 30
NOOP = 0


class AtariGame(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Frames are skipped and stacked, lives are episodes, rewards are signs.

    A new game starts with up to 30 random no-ops, and with FIRE where the game has that button.
    The lower levels (gymnasium's AtariEnv and a wrapper per feature) would fetch every raw screen
    in colour; here only the two that are needed are fetched, in grey.

    Outside training an episode is the whole game and rewards are the game's; after a lost life
    the game continues as it does in training, so that the policy meets what it knows.

    `info["episode"]` = {"r": score, "l": raw frames} when a whole game is over, and only then.
    Own state, for snapshots: `lives`, `game_over`, `score` and the frames. The no-ops are drawn
    from `unwrapped.np_random`.
    """

    reports_episodes = True

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        *,
        frame_stack: int,
        frame_skip: int = FRAME_SKIP,
        training: bool = True,
    ) -> None:
        super().__init__(env)
        game: Any = env.unwrapped
        self._ale = game.ale
        self._actions = [action.value for action in game._action_set]
        meanings = game.get_action_meanings()
        # Some games stand still until FIRE, and a few until another button follows it.
        self._starting_actions = self._actions[1:3] if "FIRE" in meanings[1:2] else []
        self._frame_skip = frame_skip
        max_frames = self._ale.getInt("max_num_frames_per_episode")
        self.max_episode_steps = max_frames // frame_skip if max_frames > 0 else None
        self._is_training = training
        self._stack = FrameStack(frame_stack)
        self.observation_space = self._stack.space
        self._screen = np.empty(self._ale.getScreenDims(), np.uint8)
        self._screen_before = np.empty_like(self._screen)
        self.lives = 0
        self.game_over = True
        self.score = 0.0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        if seed is not None or self.game_over or not self._is_training:
            self._start_game(seed, options)
        else:
            self._play(NOOP)  # the next life of the same game
        self._press_start()
        if self.game_over:
            self._start_game(None)
        return self._stack.fill(self._screen), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        score_before = self.score
        life_lost = self._play(self._actions[action])
        if life_lost and not self._is_training:
            self._play(NOOP)
            self._press_start()
            observation = self._stack.fill(self._screen)
        else:
            observation = self._stack.push(self._screen)
        reward = self.score - score_before
        if self._is_training:
            reward = float((reward > 0.0) - (reward < 0.0))
        if not self.game_over:
            return observation, reward, life_lost and self._is_training, False, {}
        truncated = self._ale.game_truncated()
        episode = {"r": self.score, "l": self._ale.getEpisodeFrameNumber()}
        return observation, reward, not truncated, truncated, {"episode": episode}

    def _start_game(self, seed: int | None, options: dict[str, Any] | None = None) -> None:
        self.env.reset(seed=seed, options=options)
        ale = self._ale
        self.score = 0.0
        for _ in range(self.env.unwrapped.np_random.integers(1, MAX_NOOPS + 1)):
            self.score += ale.act(NOOP)
            if ale.game_over():
                ale.reset_game()
                self.score = 0.0
        ale.getScreenGrayscale(self._screen)
        self.lives = ale.lives()
        self.game_over = False

    def _press_start(self) -> None:
        for action in self._starting_actions:
            if self.game_over:
                return
            if self._play(action):
                self._play(NOOP)

    def _play(self, action: int) -> bool:
        """Hold the action for the skipped frames; whether it cost a life that is not the last.

        The screen is the brighter of the last two at each place, because some games draw their
        objects in every other frame only.
        """
        ale = self._ale
        act, is_over = ale.act, ale.game_over
        last_but_one = self._frame_skip - 2
        for frame in range(self._frame_skip):
            self.score += act(action)
            if is_over():
                self.game_over = True
                break
            if frame == last_but_one:
                ale.getScreenGrayscale(self._screen_before)
        ale.getScreenGrayscale(self._screen)
        if not self.game_over and last_but_one >= 0:
            np.maximum(self._screen, self._screen_before, out=self._screen)
        lives_before, self.lives = self.lives, ale.lives()
        return not self.game_over and 0 < self.lives < lives_before

    def snapshot_state(self) -> dict[str, Any]:
        """The wrapper's own state; the emulator's is taken elsewhere."""
        return {
            "lives": self.lives,
            "game_over": self.game_over,
            "score": self.score,
            "frames": self._stack.frames.copy(),
        }

    def restore_state(self, state: Mapping[str, Any]) -> None:
        self.lives = int(state["lives"])
        self.game_over = bool(state["game_over"])
        self.score = float(state["score"])
        self._stack.frames = np.array(state["frames"], np.uint8)
