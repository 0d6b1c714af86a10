"""What the catalogue tells of one environment, so that people and forms can choose."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from mosaic.errors import ConfigError

# Packages announce a function under this group that returns a list of EnvironmentInfo.
ENTRY_POINT_GROUP = "mosaic.environments"


@dataclass(frozen=True)
class EnvironmentInfo:
    """Spaces are those after the family's pre-processing: what an algorithm gets to see."""

    id: str
    family: str
    summary: str
    observation_space: str
    action_space: str
    action_kind: str  # "discrete", "continuous", "unbounded", ...
    observation_kind: str  # "vector" or "image"
    render_modes: tuple[str, ...] = ()
    control_modes: tuple[str, ...] = ("agent",)  # and "human", where a keyboard is enough
    default_seed: int = 1
    max_episode_steps: int | None = None
    reward_threshold: float | None = None  # the mean return that counts as solved
    family_title: str = ""  # what people call the family
    # What installs the packages it needs, where they are missing; empty where they are not.
    install_command: str = ""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> EnvironmentInfo:
        """Unknown fields (of a newer worker) are ignored."""
        known = {item.name for item in fields(cls)}
        values = {key: value for key, value in data.items() if key in known}
        for name in ("render_modes", "control_modes"):
            if name in values:
                values[name] = tuple(values[name])
        try:
            return cls(**values)
        except TypeError as error:
            raise ConfigError(f"Invalid EnvironmentInfo: {error}", field="environment") from error
