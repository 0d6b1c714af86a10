"""Small scripts in the two styles of upstream's, our own, that run without any library but tyro."""

from __future__ import annotations

import textwrap
from pathlib import Path

ARGPARSE = textwrap.dedent(
    """
    import argparse, json, os, random
    from strtobool_stand_in import strtobool

    def parse_args():
        parser = argparse.ArgumentParser()
        parser.add_argument("--exp-name", type=str, default=os.path.basename(__file__))
        parser.add_argument("--gym-id", type=str, default="CartPole-v1", help="the environment")
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--total-timesteps", type=int, default=int(5e5))
        parser.add_argument("--learning-rate", "--lr", type=float, default=2.5e-4)
        parser.add_argument("--cuda", type=lambda x: bool(strtobool(x)), default=True,
            nargs="?", const=True, help="if toggled, cuda will be enabled")
        parser.add_argument("--track", type=strtobool, default=False)
        parser.add_argument("--save-model", action="store_true")
        parser.add_argument("--no-anneal", dest="anneal", action="store_false")
        parser.add_argument("--norm", action=argparse.BooleanOptionalAction, default=True)
        parser.add_argument("--backend", type=str, default="gloo", choices=["gloo", "nccl"])
        parser.add_argument("--device-ids", nargs="+", default=[])
        return parser.parse_args()
    """
)

TYRO = textwrap.dedent(
    '''
    import os
    from dataclasses import dataclass, field
    from typing import Annotated, Literal, Optional
    import tyro

    class Other:
        hidden: int = 3

    @dataclass
    class Base:
        seed: int = 1
        """seed of
        the experiment"""

    @dataclass
    class Args(Base):
        exp_name: str = os.path.basename(__file__)[: -len(".py")]
        cuda: bool = True
        track: bool = False
        env_id: str = "CartPole-v1"
        """the id of the environment"""
        total_timesteps: int = int(1e6)
        target_kl: float = None
        warmup: Optional[int] = None
        limit: "int | None" = 3
        is_sure: Optional[bool] = None
        must: bool = field()
        kind: Literal["a", "b"] = "a"
        rate: Annotated[float, "help"] = field(default=0.5)
        sizes: tuple[int, ...] = (64, 64)

    if __name__ == "__main__":
        args = tyro.cli(Args)
    '''
)


def write_script(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.py"
    path.write_text(text)
    return path
