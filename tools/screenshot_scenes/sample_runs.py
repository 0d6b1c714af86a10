"""The runs that the pictures show. Each is real, and short."""

from __future__ import annotations

from dataclasses import dataclass

from screenshot_scenes.sample_home import CPUS, SampleHome

_ENVIRONMENT = "CartPole-v1"


@dataclass(frozen=True)
class SampleRuns:
    ppo: list[str]
    dqn: list[str]
    tracked: str
    study: str
    failed: str
    evaluation: str

    @property
    def finished(self) -> str:
        return self.ppo[0]


def make_runs(home: SampleHome) -> SampleRuns:
    """Until all of them are over."""
    study = _watch(home, "lr_search")
    ppo = _train(home, "ppo", "40_000", "--seeds", "1..3")
    dqn = _train(home, "dqn", "25_000", "--seeds", "1..3", "--set", "learning_starts=1000")
    tracked = _train(
        home,
        "ppo",
        *(
            "20_000",
            "--name",
            "ppo-tracked",
            "--track",
            "--notes",
            "With everything that tracks it",
        ),
        *("--set", "tensorboard_dir=tensorboard", "--set", "capture_video=true"),
        *("--set", "checkpoint_interval=5000"),
    )
    home.wait_for([*ppo])
    evaluation = home.start("eval", ppo[0], "--episodes", "20")
    home.wait_for([*study, *dqn, *tracked, *evaluation])
    failed = _watch(home, "finetune")
    home.wait_for(failed)
    return SampleRuns(ppo, dqn, tracked[0], study[0], failed[0], evaluation[0])


def start_live(home: SampleHome) -> str:
    """Long enough for every picture of it; it is stopped with the daemon."""
    return _train(
        home,
        "ppo",
        *("20_000_000", "--seed", "7", "--name", "ppo-live", "--set", "num_envs=8"),
        *("--extra", "fastlane_grid_limit=8"),
    )[0]


def start_queued(home: SampleHome) -> str:
    """Asks for the whole machine, and waits for it."""
    return _train(home, "dqn", "500_000", "--seed", "9", "--name", "dqn-long", "--cpus", str(CPUS))[
        0
    ]


def start_evaluation(home: SampleHome, policy: str) -> str:
    """Batch after batch."""
    return home.start("eval", policy, "--repeat", "--batch-size", "10", "--name", "eval-live")[0]


def _train(home: SampleHome, algorithm: str, steps: str, *words: str) -> list[str]:
    return home.start("train", algorithm, _ENVIRONMENT, "--total-timesteps", steps, *words)


def _watch(home: SampleHome, program: str) -> list[str]:
    """In a folder of its own, as a project has one."""
    folder = home.scripts / program
    name = program.replace("_", "-")
    return home.start("watch", "--name", name, "--cwd", str(folder), "--", "python", "main.py")
