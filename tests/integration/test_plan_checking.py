"""Checks of plans by programs that answer, hang, flood, die, or are not there."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from mosaic.errors import WorkerError
from mosaic.front.plan_check import MOST_BYTES, PlanCheck, PlanChecker, PlanProblem
from tests.waiting import PATIENCE_S, wait_until

FINE = '{"ok": true, "problems": []}'
WRONG = '{"ok": false, "problems": [{"line": 1, "column": 2, "message": "no", "is_error": true}]}'


def checker(folder: Path, program: str) -> PlanChecker:
    """`program` in place of an interpreter: whatever it is asked, it does this."""
    path = folder / "interpreter"
    path.write_text(f"#!{sys.executable}\nimport os, signal, sys, time\n{program}\n")
    path.chmod(0o700)
    return PlanChecker(str(path), "worker.plans")


def check(folder: Path, program: str, text: str = "+!a <- b.") -> tuple[PlanProblem, ...]:
    return PlanCheck(checker(folder, program), text, "learner").run(PATIENCE_S)


def test_an_answer_is_what_is_wrong(tmp_path: Path) -> None:
    assert check(tmp_path, f"print('{FINE}')") == ()
    assert check(tmp_path, f"print('{WRONG}'); sys.exit(1)") == (PlanProblem(1, 2, "no"),)
    (found,) = check(tmp_path, """print('{"ok": false}')""")
    assert found.is_error and found.line == 0


def test_the_program_gets_the_plan_and_nothing_of_our_environment(tmp_path: Path) -> None:
    program = """
import json
seen = [sys.stdin.buffer.read().decode(), sys.argv[1:], os.environ["PYTHONPATH"], os.getcwd()]
where = sorted(os.listdir(os.environ["PYTHONPATH"]))
message = json.dumps([seen[0], seen[1], where])
print(json.dumps({"ok": False, "problems": [{"line": 1, "column": 1, "message": message}]}))
"""
    (found,) = check(tmp_path, program, text="é 😀 \udc00")
    assert '"\\u00e9 \\ud83d\\ude00 ?"' in found.message
    assert '["-m", "worker.plans", "--role", "learner"]' in found.message
    assert found.message.endswith('["mosaic"]]')


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        ("print('hello')", "ended with 0 and gave no answer"),
        ("print('[]')", "ended with 0 and gave no answer"),
        ("print('[' * 100000)", "gave no answer"),
        ("sys.stdout.buffer.write(bytes(range(256)))", "gave no answer"),
        ("raise SystemExit('No module named x\\x1b[31m')", "ended with 1 and gave no answer: No m"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "was ended by signal 9"),
        ("while True: print('x' * 9999)", "prints without end"),
    ],
)
def test_whatever_else_comes_is_a_sentence(tmp_path: Path, program: str, sentence: str) -> None:
    with pytest.raises(WorkerError, match=sentence) as caught:
        check(tmp_path, program)
    assert caught.value.message.isprintable()


@pytest.mark.parametrize(
    "program",
    [
        "time.sleep(3600)",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: pass",
        # It closes what is read from, and goes on.
        "os.close(1); os.close(2); time.sleep(3600)",
        # A child holds the pipe, when the program itself is over.
        f"print('{FINE}', flush=True)\nif os.fork() == 0: time.sleep(3600)",
        "while True: os.write(2, b'x' * 9999)",
    ],
    ids=["hangs", "ignores", "closes", "forks", "complains"],
)
def test_what_never_answers_is_ended(tmp_path: Path, program: str) -> None:
    noted = tmp_path / "pid"
    noting = f"from pathlib import Path; Path({str(noted)!r}).write_text(str(os.getpid()))\n"
    with pytest.raises(WorkerError, match="not checked within 1 seconds"):
        PlanCheck(checker(tmp_path, noting + program), "a", "").run(1.0)
    if noted.exists():
        group = int(noted.read_text())
        wait_until(lambda: not is_alive(group))


def is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def test_a_check_that_is_stopped_ends_at_once(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    program = f"open({str(begun)!r}, 'w').close()\ntime.sleep(3600)"
    slow = PlanCheck(checker(tmp_path, program), "a", "")
    failures: list[WorkerError] = []

    def run() -> None:
        try:
            slow.run(PATIENCE_S)
        except WorkerError as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    wait_until(begun.exists)
    slow.stop()
    thread.join(PATIENCE_S)
    assert not thread.is_alive()
    assert f"signal {int(signal.SIGKILL)}" in failures[0].message


def test_a_check_that_is_stopped_before_it_begins_starts_nothing(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    stopped = PlanCheck(checker(tmp_path, f"open({str(begun)!r}, 'w')"), "a", "")
    stopped.stop()
    with pytest.raises(WorkerError, match="stopped"):
        stopped.run(PATIENCE_S)
    assert not begun.exists()


def test_an_interpreter_that_is_gone_is_named(tmp_path: Path) -> None:
    gone = PlanChecker(str(tmp_path / "venv" / "bin" / "python"), "worker.plans")
    with pytest.raises(WorkerError, match="venv/bin/python cannot be started: No such file"):
        PlanCheck(gone, "a", "").run(PATIENCE_S)


def test_a_plan_that_is_too_large_is_not_even_sent(tmp_path: Path) -> None:
    with pytest.raises(WorkerError, match="more than 131,072 bytes"):
        check(tmp_path, f"print('{FINE}')", text="x" * (MOST_BYTES + 1))


def test_a_module_that_is_nowhere_says_so() -> None:
    absent = PlanChecker(sys.executable, "no_such_worker_at_all.plans")
    with pytest.raises(WorkerError, match="no_such_worker_at_all"):
        PlanCheck(absent, "a", "").run(PATIENCE_S)
