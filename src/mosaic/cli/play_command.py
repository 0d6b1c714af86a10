"""`mosaic play-policy`: step through a policy in the terminal, and take over at will."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from typing import IO, TYPE_CHECKING, Any

from mosaic.cli.numbers import seed
from mosaic.cli.session import open_client
from mosaic.cli.terminal import paint, printable, say
from mosaic.errors import WorkerError

if TYPE_CHECKING:
    from mosaic.wire.answers import WorkerInfo

HELP = (
    "Enter: the policy's action · a number or [list]: your own · N s: N steps · r: reset · q: quit"
)


def add(commands: Any) -> None:
    parser = commands.add_parser("play-policy", help="step through a policy in the terminal")
    parser.add_argument("policy", metavar="RUN|PATH", help="a run, or a checkpoint file")
    parser.add_argument("--env-id", help="another environment than the trained one")
    parser.add_argument("--seed", type=seed, default=1, help="of the first episode")
    parser.add_argument("--worker", help="only for files, when several workers could load it")
    parser.set_defaults(handler=play)


def play(arguments: argparse.Namespace) -> int:
    from mosaic.cli.run_command import find_worker
    from mosaic.front.policy_reference import find_policy

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
    say(paint(HELP, "dim"))
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
            say(printable(describe(answer)))
        if kind in ("ready", "step", "error", "pong"):
            return True
        if kind == "stopped":
            return False
    return False


def describe(answer: dict[str, Any]) -> str:
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
