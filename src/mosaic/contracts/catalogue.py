"""AlgorithmInfo and EnvironmentInfo: what catalogues say about one of them, for lists and forms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from mosaic.errors import ConfigError

ALGORITHMS_GROUP = "mosaic.algorithms"
HYPERPARAMETERS = "Hyperparameters"  # the heading of parameters that name none
# Other places algorithms come from, such as scripts in a folder. The entry point's name is what
# people call the source; its function takes `path` and `env_python`, each a string or None, and
# returns a list of AlgorithmInfo, or raises ConfigError or DependencyError.
ALGORITHM_SOURCES_GROUP = "mosaic.algorithm_sources"


@dataclass(frozen=True)
class Recipe:
    """Parameters for one environment that somebody has published, and what they led to."""

    name: str
    env_id: str
    source: str  # who published it
    total_timesteps: int
    parameters: dict[str, Any] = field(default_factory=dict)  # where they are not the defaults
    expected_return: float | None = None  # what the source reached
    is_least: bool = False  # the expected return is what it reaches at least
    url: str = ""
    published_for: str = ""  # the environment of the source, where it is an older version
    note: str = ""
    ran_here: str = ""  # what it did on this implementation; empty where it is only quoted

    @property
    def expectation(self) -> str:
        """`expect ≥ 475` or `expect about 490`; empty where nothing is known."""
        if self.expected_return is None:
            return ""
        return f"expect {'≥' if self.is_least else 'about'} {self.expected_return:,.4g}"

    @property
    def text(self) -> str:
        """`tuned (RL Baselines3 Zoo), expect ≥ 475`"""
        return ", ".join(
            part for part in (f"{self.name} ({self.source})", self.expectation) if part
        )

    @property
    def details(self) -> tuple[str, ...]:
        """What else is known about it, in sentences."""
        older = f"Published for {self.published_for}." if self.published_for else ""
        ran = f"Run here: {self.ran_here}." if self.ran_here else "Quoted: it was not run here."
        return tuple(part for part in (older, self.note, ran, self.url) if part)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Recipe:
        """Unknown fields (of a newer worker) are ignored."""
        known = {item.name for item in fields(cls)}
        return cls(**{key: value for key, value in data.items() if key in known})


@dataclass(frozen=True)
class AlgorithmInfo:
    """Entry points of the group `mosaic.algorithms` return a list of these, in milliseconds.

    The worker's config then has the fields `algo`, `env_id`, `total_timesteps`, `seed` and
    `extras`, with the parameters in `extras.algo_params`.
    """

    name: str
    worker: str
    summary: str
    is_available: bool = True
    action_spaces: tuple[str, ...] = ()
    observation_spaces: tuple[str, ...] = ()
    default_env_id: str = ""
    # What a run of it needs with its default parameters.
    cpus: int = 1
    memory_mb: int = 2048
    # JSON Schema of each parameter: type, default, description, minimum, maximum, enum, and what
    # `mosaic.contracts.options` reads.
    parameters: dict[str, dict[str, Any]] = field(default_factory=dict)
    # What the config's `extras` must hold for it to be this algorithm, as where it comes from.
    extras: dict[str, Any] = field(default_factory=dict)
    recipes: tuple[Recipe, ...] = ()

    def recipes_for(self, env_id: str) -> list[Recipe]:
        return [recipe for recipe in self.recipes if recipe.env_id == env_id]

    @property
    def options(self) -> dict[str, dict[str, Any]]:
        """Its parameters, each with the heading that people find it below."""
        return {
            name: {"x-section": HYPERPARAMETERS, **schema}
            for name, schema in self.parameters.items()
        }

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> AlgorithmInfo:
        """Unknown fields (of a newer worker) are ignored."""
        known = {item.name for item in fields(cls)}
        values = {key: value for key, value in data.items() if key in known}
        try:
            for name in ("action_spaces", "observation_spaces"):
                values[name] = tuple(values.get(name, ()))
            values["recipes"] = tuple(map(Recipe.from_dict, values.get("recipes", ())))
            return cls(**values)
        except (TypeError, AttributeError) as error:
            raise ConfigError(f"Invalid AlgorithmInfo: {error}", field="algorithm") from error


# Packages announce a function under this group that returns a list of EnvironmentInfo.
ENVIRONMENTS_GROUP = "mosaic.environments"


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
    # How long a training there usually is; None where the algorithm's own default will do.
    usual_timesteps: int | None = None
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
