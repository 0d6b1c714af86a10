"""Which family an environment id belongs to, and what that family needs. Imports nothing heavy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

TOY_TEXT = "toy_text"
CLASSIC_CONTROL = "classic_control"
BOX2D = "box2d"
MUJOCO = "mujoco"
ATARI = "atari"
MINIGRID = "minigrid"
BABYAI = "babyai"
DM_CONTROL = "dm_control"
GYMNASIUM = "gymnasium"


@dataclass(frozen=True)
class Family:
    """Environments that are made and pre-processed alike."""

    name: str
    title: str
    extra: str  # of mosaic-rl, installs all modules
    modules: tuple[str, ...] = ()  # beyond gymnasium; importing them also registers the ids

    @property
    def install_command(self) -> str:
        return f'pip install "mosaic-rl[{self.extra}]"'


FAMILIES: Mapping[str, Family] = {
    family.name: family
    for family in (
        Family(TOY_TEXT, "Toy text", "cleanrl"),
        Family(CLASSIC_CONTROL, "Classic control", "cleanrl"),
        Family(BOX2D, "Box2D", "box2d", ("Box2D",)),
        Family(MUJOCO, "MuJoCo", "mujoco", ("mujoco",)),
        Family(ATARI, "Atari", "atari", ("cv2", "ale_py")),
        Family(MINIGRID, "MiniGrid", "minigrid", ("minigrid",)),
        Family(BABYAI, "BabyAI", "minigrid", ("minigrid",)),
        Family(DM_CONTROL, "DeepMind Control", "dm-control", ("dm_control", "shimmy")),
        Family(GYMNASIUM, "Other Gymnasium environments", "cleanrl"),
    )
}

_PREFIXES = {"ALE/": ATARI, "MiniGrid-": MINIGRID, "BabyAI-": BABYAI, "dm_control/": DM_CONTROL}
_NAMES = {
    TOY_TEXT: "Blackjack CliffWalking CliffWalkingSlippery FrozenLake FrozenLake8x8 Taxi",
    CLASSIC_CONTROL: "Acrobot CartPole MountainCar MountainCarContinuous Pendulum",
    BOX2D: "BipedalWalker BipedalWalkerHardcore CarRacing LunarLander LunarLanderContinuous",
    MUJOCO: "Ant HalfCheetah Hopper Humanoid HumanoidStandup InvertedDoublePendulum"
    " InvertedPendulum Pusher Reacher Swimmer Walker2d",
    # The games that have ids without a namespace: Pong-v4, PongNoFrameskip-v4.
    ATARI: "Adventure AirRaid Alien Amidar Assault Asterix Asteroids Atlantis BankHeist BattleZone"
    " BeamRider Berzerk Bowling Boxing Breakout Carnival Centipede ChopperCommand CrazyClimber"
    " Defender DemonAttack DoubleDunk ElevatorAction Enduro FishingDerby Freeway Frostbite Gopher"
    " Gravitar Hero IceHockey Jamesbond JourneyEscape Kangaroo Krull KungFuMaster"
    " MontezumaRevenge MsPacman NameThisGame Phoenix Pitfall Pong Pooyan PrivateEye Qbert"
    " Riverraid RoadRunner Robotank Seaquest Skiing Solaris SpaceInvaders StarGunner Tennis"
    " TimePilot Tutankham UpNDown Venture VideoPinball WizardOfWor YarsRevenge Zaxxon",
}
_FAMILY_OF_NAME = {name: family for family, names in _NAMES.items() for name in names.split()}
_VERSION = re.compile(r"-v(\d+)$")


def family_of(env_id: str) -> Family:
    """The family by the form of the id alone; whether it exists only its packages can tell."""
    bare = without_module(env_id)
    for prefix, family in _PREFIXES.items():
        if bare.startswith(prefix):
            return FAMILIES[family]
    name = base_name(bare).removesuffix("NoFrameskip")
    return FAMILIES[_FAMILY_OF_NAME.get(name, GYMNASIUM)]


def id_patterns(family: str) -> tuple[str, ...]:
    """What ids of a family look like, as `fnmatch` reads it; of those that have a form of their
    own."""
    prefixes = [prefix for prefix, name in _PREFIXES.items() if name == family]
    names = _NAMES.get(family, "").split()
    if family == ATARI:
        names += [f"{name}NoFrameskip" for name in names]
    return (
        *(pattern for prefix in prefixes for pattern in (f"{prefix}*", f"*:{prefix}*")),
        *(pattern for name in names for pattern in (name, f"{name}-v*")),
    )


def without_module(env_id: str) -> str:
    """`Env-v0` of `some.module:Env-v0`."""
    return env_id.rpartition(":")[2]


def base_name(env_id: str) -> str:
    """`ALE/Pong` of `ALE/Pong-v5`, `CartPole` of `some.module:CartPole-v1`."""
    return _VERSION.sub("", without_module(env_id))


def version_of(env_id: str) -> int | None:
    """5 of `ALE/Pong-v5`."""
    found = _VERSION.search(env_id)
    return int(found.group(1)) if found else None
