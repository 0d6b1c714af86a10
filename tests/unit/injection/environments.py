"""Small environments and wrappers with the shape of Gymnasium's."""

from __future__ import annotations

from typing import Any

Result = tuple[Any, Any, bool, bool, dict[str, Any]]


class Env:
    metadata: dict[str, Any] = {"render_modes": ["human", "rgb_array"]}  # noqa: RUF012
    render_mode: str | None = None
    _np_random: Any = None

    @property
    def unwrapped(self) -> Env:
        return self

    def reset(self, *, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
        return None, {}

    def close(self) -> None:
        pass


class Corridor(Env):
    """Ends after so many steps, each of reward 0.5."""

    def __init__(self, length: int = 4, reward: Any = 0.5) -> None:
        self.length, self.reward, self.place = length, reward, 0
        self.modes_seen: list[str | None] = []

    def reset(self, *, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.place = 0
        return self.place, {}

    def step(self, action: Any) -> Result:
        self.place += 1
        return self.place, self.reward, self.place >= self.length, False, {}

    def render(self) -> Any:
        self.modes_seen.append(self.render_mode)
        return [[[self.place]]] if self.render_mode == "rgb_array" else None


class Wrapper(Env):
    def __init__(self, env: Any) -> None:
        self.env = env

    @property
    def unwrapped(self) -> Env:
        found: Env = self.env.unwrapped
        return found

    def reset(self, *, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
        found: tuple[Any, dict[str, Any]] = self.env.reset(seed=seed)
        return found

    def step(self, action: Any) -> Result:
        found: Result = self.env.step(action)
        return found

    def close(self) -> None:
        self.env.close()
