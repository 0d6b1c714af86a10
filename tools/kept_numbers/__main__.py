"""Twelve scripts of six libraries under `mosaic watch`: is every number kept that they logged?

    python tools/kept_numbers --python VENV/bin/python --cleanrl CHECKOUT [NAME ...] [--pairs N]

What a script logged is read where it wrote it, by TensorBoard's own reader, from Monitor's files
or from its last line; what is stored is asked of the daemon, what is exported is read from the CSV
files. With `--pairs`, each script also runs so often alone and watched, in turns, and the ratio of
its CPU times is what being watched costs it. The home is a new one.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import (
    SCALARS,
    TENSORS,
    EventAccumulator,
)

from mosaic.client import TrainerClient
from mosaic.paths import Home

SCRIPTS = Path(__file__).with_name("scripts")
# Runs a script as if it had been called, then says what it took of the processor.
MEASURED = """
import json, runpy, sys, time
path, *sys.argv[1:] = sys.argv[1:]
sys.argv[0] = path
sys.path[0] = path.rpartition("/")[0]
try:
    runpy.run_path(path, run_name="__main__")
finally:
    with open("cpu.json", "w") as file:
        json.dump(time.process_time(), file)
"""


@dataclass(frozen=True)
class Script:
    name: str
    words: tuple[str, ...]
    is_cleanrl: bool = False
    episodes_from: str = "line"  # "line", "monitor", or the tag that is logged once an episode


CLEANRL = {"is_cleanrl": True, "episodes_from": "charts/episodic_return"}
ALL = (
    Script("cleanrl-ppo", ("ppo.py", "--total-timesteps", "20000"), **CLEANRL),  # type: ignore[arg-type]
    Script("cleanrl-dqn", ("dqn.py", "--total-timesteps", "12000"), **CLEANRL),  # type: ignore[arg-type]
    Script("cleanrl-c51", ("c51.py", "--total-timesteps", "12000"), **CLEANRL),  # type: ignore[arg-type]
    Script("cleanrl-pqn", ("pqn.py", "--total-timesteps", "20000"), **CLEANRL),  # type: ignore[arg-type]
    Script("sb3-ppo", ("sb3.py", "PPO", "16384"), episodes_from="monitor"),
    Script("sb3-dqn", ("sb3.py", "DQN", "8000"), episodes_from="monitor"),
    Script("sb3-a2c", ("sb3.py", "A2C", "8000"), episodes_from="monitor"),
    Script("sb3-evaluation", ("sb3_evaluation.py", "4096"), episodes_from="monitor"),
    Script("tianshou-dqn", ("tianshou_dqn.py", "2")),
    Script("torch-by-hand", ("plain_torch.py", "300")),
    Script("tensorboardx-bare-class", ("tensorboardx.py", "2000")),
    Script("wandb-offline", ("wandb_offline.py", "150")),
    Script("flood", ("flood.py",)),
)


@dataclass
class Truth:
    scalars: Counter[str]
    episodes: int | None


class Bench:
    def __init__(self, python: str, cleanrl: Path | None) -> None:
        self._python, self._cleanrl = python, cleanrl
        version = subprocess.run(
            [python, "-c", "import gymnasium; print(gymnasium.__version__)"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        self._is_old = version.startswith("0.")  # what CleanRL is written for

    def command(self, script: Script) -> list[str]:
        folder = self._cleanrl / "cleanrl" if script.is_cleanrl and self._cleanrl else SCRIPTS
        return [self._python, "measured.py", str(folder / script.words[0]), *script.words[1:]]

    def run(self, script: Script, folder: Path, home: str = "") -> float:
        """In an empty folder, watched where there is a home; seconds of the processor."""
        (folder / "measured.py").write_text(MEASURED)
        command = self.command(script)
        variables = {**os.environ, "OMP_NUM_THREADS": "1"}
        if script.is_cleanrl:
            variables["PYTHONPATH"] = str(self._cleanrl)  # its buffers
        if home:
            variables["MOSAIC_HOME"] = home
            program = Path(sys.executable).with_name("mosaic")
            watch = [str(program), "watch", "--name", script.name]
            if script.is_cleanrl and not self._is_old:
                watch.append("--compat")
            command = [*watch, "--env", "OMP_NUM_THREADS=1", "--", *command]
        elif script.is_cleanrl and not self._is_old:
            return float("nan")  # without the layer for older Gymnasium it is another training
        done = subprocess.run(
            command, cwd=folder, env=variables, text=True, capture_output=True, check=False
        )
        (folder / "output.txt").write_text(done.stdout + done.stderr)
        if done.returncode:
            sys.exit(f"{script.name} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        seconds: float = json.loads((folder / "cpu.json").read_text())
        return seconds


def mosaic(home: str, *words: str) -> str:
    program = Path(sys.executable).with_name("mosaic")
    return subprocess.run(
        [str(program), *words],
        env={**os.environ, "MOSAIC_HOME": home},
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def truth_of(script: Script, folder: Path, output: str) -> Truth:
    scalars: Counter[str] = Counter()
    for place in {path.parent for path in folder.rglob("*tfevents*")}:
        events = EventAccumulator(str(place), size_guidance={SCALARS: 0, TENSORS: 0})
        events.Reload()
        for tag in events.Tags()["scalars"]:
            scalars[tag] += len(events.Scalars(tag))
        for tag in events.Tags()["tensors"]:
            if not tag.endswith("text_summary"):
                scalars[tag] += len(events.Tensors(tag))
    if found := re.findall(r"logged (\d+)", output):
        scalars["all"] = int(found[-1])
    if script.episodes_from == "monitor":
        files = list((folder / "monitor").glob("*.csv")) + list(folder.glob("*monitor.csv"))
        return Truth(scalars, sum(max(0, len(path.read_text().splitlines()) - 2) for path in files))
    if script.episodes_from != "line":
        return Truth(scalars, scalars[script.episodes_from])
    counted = re.findall(r"episodes (\d+)", output)
    return Truth(scalars, int(counted[-1]) if counted else None)


def judge(script: Script, truth: Truth, client: TrainerClient, folder: Path, home: str) -> bool:
    (record,) = client.list_runs(limit=1)
    stored = Counter({info.name: info.points for info in client.metrics(record.run_id)})
    training = [
        episode
        for episode in client.episodes(record.run_id)
        if (episode.metadata or {}).get("purpose") != "evaluation"
    ]
    target = folder / "export"
    mosaic(home, "export", record.run_id, "--to", "csv", "--out", str(target))
    exported: Counter[str] = Counter()
    for path in target.rglob("*metrics*.csv"):
        with path.open(newline="") as file:
            exported.update(row["name"] for row in csv.DictReader(file))
    wanted = truth.scalars
    if "all" in wanted:
        derived = sum(count for name, count in stored.items() if "episodic_" in name)
        kept = {"all": sum(stored.values()) - derived}
        written = {"all": sum(exported.values()) - derived}
    else:
        kept = {name: stored[name] for name in wanted}
        written = {name: exported[name] for name in wanted}
    is_whole = kept == dict(wanted) == written and truth.episodes in (None, len(training))
    print(
        f"{script.name}: {sum(wanted.values()):,} scalars logged, {sum(kept.values()):,} stored,"
        f" {sum(written.values()):,} exported; {truth.episodes} episodes ended,"
        f" {len(training):,} stored; {'whole' if is_whole else 'NOT WHOLE'}",
        flush=True,
    )
    for name in wanted:
        if not kept[name] == wanted[name] == written[name]:
            print(
                f"    {name}: {wanted[name]} logged, {kept[name]} stored, {written[name]} exported"
            )
    return is_whole


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="of scripts; all without any")
    parser.add_argument("--python", default=sys.executable, help="that has their libraries")
    parser.add_argument("--cleanrl", type=Path, help="a checkout of CleanRL")
    parser.add_argument("--pairs", type=int, default=0, help="alone and watched, in turns")
    arguments = parser.parse_args()
    bench = Bench(str(Path(arguments.python).absolute()), arguments.cleanrl)
    failed = []
    with tempfile.TemporaryDirectory(prefix="kept-numbers-") as place:
        home = str(Path(place) / "home")
        for script in ALL:
            if arguments.names and script.name not in arguments.names:
                continue
            if script.is_cleanrl and arguments.cleanrl is None:
                print(f"{script.name}: left out, --cleanrl names no checkout")
                continue
            folder = Path(place) / script.name
            folder.mkdir()
            bench.run(script, folder, home)
            output = (folder / "output.txt").read_text()
            with TrainerClient(home=Home(Path(home))) as client:
                run_id = client.list_runs(limit=1)[0].run_id
                output += mosaic(home, "logs", run_id)
                if not judge(script, truth_of(script, folder, output), client, folder, home):
                    failed.append(script.name)
            ratios = []
            for pair in range(arguments.pairs):
                times = []
                for kind, its_home in (("alone", ""), ("watched", home)):
                    again = folder / f"{kind}-{pair}"
                    again.mkdir()
                    times.append(bench.run(script, again, its_home))
                ratios.append(times[0] / times[1])
            if ratios:
                lowest, *_, highest = (
                    statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 2
                )
                print(
                    f"    CPU time alone / watched: median {statistics.median(ratios):.4f},"
                    f" middle half {lowest:.4f} to {highest:.4f}"
                )
        mosaic(home, "daemon", "stop")
    if failed:
        sys.exit(f"not whole: {', '.join(failed)}")


if __name__ == "__main__":
    main()
