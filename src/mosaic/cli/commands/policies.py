"""`mosaic eval`, `resume` and `play-policy`: what can be done with a checkpoint."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from mosaic.cli.shared.argument_types import seed, total_steps
from mosaic.cli.shared.clients import open_client
from mosaic.cli.shared.run_options import FOLLOWING, add_run_options
from mosaic.cli.shared.terminal import paint, printable, say, say_table
from mosaic.cli.shared.worker_flags import add_worker_flags, chosen_extras
from mosaic.errors import WorkerError

if TYPE_CHECKING:
    from mosaic.client import TrainerClient
    from mosaic.contracts.worker_info import WorkerInfo
    from mosaic.front.flags import PublishedFlags


def add_eval(commands: Any, flags: PublishedFlags) -> None:
    """`flags`: those of the installed learners."""
    parser = commands.add_parser(
        "eval",
        help="evaluate the policy of a run or a checkpoint",
        description=(
            "Evaluates a checkpoint; environment, algorithm and normaliser are found beside it. "
            "Writes `eval_summary.json` and `tensorboard_eval/`."
        ),
    )
    parser.add_argument("policy", metavar="RUN|PATH", help="a run, or a checkpoint file")
    parser.add_argument("--env-id", metavar="ENV", help="another environment than the trained one")
    parser.add_argument("--algo", metavar="ALGO", help="when it cannot be told from the files")
    _add_shared(parser, flags)
    parser.set_defaults(handler=evaluate)


def add_resume(commands: Any, flags: PublishedFlags) -> None:
    """`flags`: those of the installed learners."""
    parser = commands.add_parser(
        "resume",
        help="go on with a training from its checkpoint",
        description=(
            "Goes on from the newest checkpoint in a new run whose curve continues the old one."
        ),
    )
    parser.add_argument("policy", metavar="RUN|PATH", help="a run, or a checkpoint file")
    parser.add_argument(
        "--total-timesteps",
        type=total_steps,
        metavar="N",
        help="the new total, old steps included",
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="change a parameter"
    )
    _add_shared(parser, flags)
    parser.set_defaults(handler=resume)


def _add_shared(parser: argparse.ArgumentParser, flags: PublishedFlags) -> None:
    parser.add_argument(
        "--worker", metavar="NAME", help="only for files, when several workers could load it"
    )
    add_run_options(parser, "--extra", "--cuda", "--name", *FOLLOWING, "--install", "--yes")
    add_worker_flags(parser, flags)


def evaluate(arguments: argparse.Namespace) -> int:
    from mosaic.contracts.learner import Mode
    from mosaic.front.policy_config import evaluation_document
    from mosaic.front.references import find_policy

    with open_client(arguments) as client:
        policy = find_policy(client, arguments.policy, arguments.worker)
        document = evaluation_document(
            policy,
            chosen_extras(client, arguments, policy.worker, Mode.EVALUATE),
            env_id=arguments.env_id,
            algo=arguments.algo,
            name=arguments.name,
            use_gpu=arguments.cuda,
        )
        return _submit(client, arguments, document)


def resume(arguments: argparse.Namespace) -> int:
    from mosaic.contracts.learner import Mode
    from mosaic.front.policy_config import resuming_document
    from mosaic.front.references import find_policy
    from mosaic.front.set_values import parse_settings

    with open_client(arguments) as client:
        policy = find_policy(client, arguments.policy, arguments.worker)
        document = resuming_document(
            policy,
            total_timesteps=arguments.total_timesteps,
            parameters=parse_settings(arguments.set, {}),
            extras=chosen_extras(client, arguments, policy.worker, Mode.RESUME),
            name=arguments.name,
            use_gpu=arguments.cuda,
        )
        return _submit(client, arguments, document)


def _submit(client: TrainerClient, arguments: argparse.Namespace, document: dict[str, Any]) -> int:
    from mosaic.cli.shared.install_agreement import RunInstalls
    from mosaic.cli.shared.submission import submit_and_report

    return submit_and_report(
        client,
        document,
        dry_run=arguments.dry_run,
        follow=not arguments.detach,
        as_json=arguments.json,
        at_end=None if arguments.json else lambda record: say_evaluation(record.paths),
        is_confirmed=arguments.yes,
        installs=RunInstalls.of(arguments),
    )


def say_evaluation(paths: dict[str, str]) -> None:
    """The table of an evaluation's batches, if this run was one."""
    from mosaic.contracts.evaluation_summary import FILE_NAME, read_batches

    path = Path(paths["run_directory"]) / FILE_NAME
    try:
        batches = read_batches(path)
    except (OSError, ValueError):
        return
    rows = [
        (
            str(batch.number),
            str(batch.episodes),
            f"{batch.mean:.2f} ± {batch.deviation:.2f}",
            f"{batch.lowest:.2f}",
            f"{batch.highest:.2f}",
            f"{batch.seconds:.1f} s",
        )
        for batch in batches
    ]
    if rows:
        say_table(("BATCH", "EPISODES", "RETURN", "MIN", "MAX", "TOOK"), rows)
        say(f"  {path}")


PLAY_HELP = (
    "Enter: the policy's action · a number or [list]: your own · N s: N steps · r: reset · q: quit"
)


def add_play_policy(commands: Any) -> None:
    parser = commands.add_parser(
        "play-policy",
        help="step through a policy in the terminal",
        description=(
            "Steps through episodes in the terminal: Enter takes the policy's action, a number or "
            "list is your own."
        ),
    )
    parser.add_argument("policy", metavar="RUN|PATH", help="a run, or a checkpoint file")
    parser.add_argument("--env-id", metavar="ENV", help="another environment than the trained one")
    parser.add_argument("--seed", metavar="N", type=seed, default=1, help="of the first episode")
    parser.add_argument(
        "--worker", metavar="NAME", help="only for files, when several workers could load it"
    )
    parser.set_defaults(handler=play)


def play(arguments: argparse.Namespace) -> int:
    from mosaic.front.references import find_policy, find_worker

    with open_client(arguments) as client:
        policy = find_policy(client, arguments.policy, arguments.worker)
        workers = client.workers()
    find_worker(workers, policy.worker)  # says why, when it cannot be used
    worker = next(worker for worker in workers if worker.name == policy.worker)
    with _start(worker, str(policy.checkpoint), arguments.env_id) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            _converse(process.stdin, process.stdout, arguments.seed)
        except BrokenPipeError:
            pass
        finally:
            process.stdin.close()
        status = process.wait(timeout=10)
    if status:
        raise WorkerError(f"The worker ended with status {status}", hint="its message is above")
    return 0


def _start(worker: WorkerInfo, checkpoint: str, env_id: str | None) -> subprocess.Popen[str]:
    command = [worker.python, "-m", worker.module, "--interactive", "--policy-path", checkpoint]
    if env_id:
        command += ["--env-id", env_id]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )


def _converse(requests: IO[str], answers: IO[str], seed: int) -> None:
    say(paint(PLAY_HELP, "dim"))
    if not _ask(requests, answers, {"cmd": "reset", "seed": seed}):
        return
    while True:
        print("> ", end="", flush=True)
        words = sys.stdin.readline()
        text = words.strip()
        if not words or text == "q":
            _ask(requests, answers, {"cmd": "stop"})
            return
        for request in read_requests(text):
            if not _ask(requests, answers, request):
                return


def read_requests(text: str) -> list[dict[str, Any]]:
    """What a line of the person means; anything unknown is answered by the worker."""
    if text == "r":
        return [{"cmd": "reset"}]
    if text == "":
        return [{"cmd": "step"}]
    number, _, letter = text.partition(" ")
    if letter == "s" and number.isdecimal():
        return [{"cmd": "step"}] * min(int(number), 10_000)
    try:
        return [{"cmd": "step", "action": json.loads(text)}]
    except ValueError:
        return [{"cmd": text}]


def _ask(requests: IO[str], answers: IO[str], request: dict[str, Any]) -> bool:
    """Send one request and show its answers; False when the worker has ended."""
    requests.write(json.dumps(request) + "\n")
    requests.flush()
    while line := answers.readline():
        answer = json.loads(line)
        kind = answer.get("type")
        if kind != "init":
            say(printable(describe_answer(answer)))
        if kind in ("ready", "step", "error", "pong"):
            return True
        if kind == "stopped":
            return False
    return False


def describe_answer(answer: dict[str, Any]) -> str:
    kind = answer.get("type")
    if kind == "step":
        return (
            f"step {answer.get('step_index')}  action {answer.get('action')}  "
            f"reward {answer.get('reward')}  return {answer.get('episode_reward')}"
        )
    if kind == "episode_done":
        return (
            f"episode over: return {answer.get('total_reward')} "
            f"after {answer.get('episode_length')} steps"
        )
    if kind == "ready":
        return f"ready, seed {answer.get('seed')}"
    if kind == "error":
        return f"error: {answer.get('message')}"
    return str(kind)
