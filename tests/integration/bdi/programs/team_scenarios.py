"""Runs one scenario with a real team and prints what happened as JSON: SCENARIO FOLDER."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import uvloop
from spade.message import Message

from mosaic.errors import MosaicError
from spade_bdi_rl_worker.agents.accounts import Account, ExternalServer, ServerAddress
from spade_bdi_rl_worker.agents.connection import Connection
from spade_bdi_rl_worker.agents.settings import CompanionSettings, TeamSettings
from spade_bdi_rl_worker.agents.team import Team
from tests.integration.bdi.programs.scripted_team import (
    RunningTeam,
    ScriptedHands,
    await_gone,
    cpu_seconds,
    exists,
    listening_ports,
    memory_mb,
)

COACH = CompanionSettings("coach", "coach")


def goal_change(folder: Path) -> dict[str, Any]:
    """A goal goes through coach and server to the learner; how long that takes."""
    settings = TeamSettings(folder, beliefs={"batch": 20})
    with RunningTeam(settings) as run:
        run.hands.await_pursuit("explore")
        latencies = []
        for number in range(10):
            kind, target = [("subgoal", f"row {number}, column 3"), ("exploit", "")][number % 2]
            asked = time.monotonic()
            answer = run.team.handle({"command": "goal", "kind": kind, "target": target})
            assert answer["ok"], answer
            latencies.append(run.hands.await_pursuit(kind, target, since=asked) - asked)
        # While the server stands still nothing arrives, so that is where messages go.
        os.kill(run.server_pid, signal.SIGSTOP)
        asked = time.monotonic()
        run.team.handle({"command": "goal", "kind": "explore"})
        with run.hands.changed:
            run.hands.changed.wait(0.5)
        arrived_without_server = run.hands.pursued[-1][0] > asked
        os.kill(run.server_pid, signal.SIGCONT)
        run.hands.await_pursuit("explore", since=asked)
        pids = [os.getpid(), run.server_pid, run.companion_pid()]
        ports = listening_ports(run.server_pid)
        others = listening_ports(os.getpid()) + listening_ports(run.companion_pid())
        ready_s = run.ready_s
    assert run.report is not None
    run.join()
    await_gone(*pids[1:])
    return {
        "ready_s": ready_s,
        "latencies": latencies,
        "arrived_without_server": arrived_without_server,
        "processes": len(set(pids)),
        "ports": ports,
        "other_ports": others,
        "messages": run.trace.of("message"),
        "goals": run.trace.of("goal"),
        "plans": run.trace.of("plan"),
        "beliefs": run.trace.of("belief"),
        "intentions": run.trace.of("intention"),
        "was_stopped": run.report.was_stopped,
        "pursued": [what for _, *what in run.hands.pursued],
        "files": sorted(str(path.relative_to(folder)) for path in folder.rglob("*")),
    }


def server_killed(folder: Path) -> dict[str, Any]:
    """Beliefs are told without pause while the server is killed twice."""
    with RunningTeam(TeamSettings(folder)) as run:
        run.hands.await_pursuit("explore")
        port = run.address.port
        sent = 0
        for _ in range(2):
            for _ in range(10):
                sent += 1
                assert run.team.handle({"command": "tell", "belief": f"seen({sent})"})["ok"]
            pid = run.server_pid
            restarts = sum("runs again" in note for note in run.trace.notes)
            os.kill(pid, signal.SIGKILL)
            killed = time.monotonic()
            for _ in range(10):
                sent += 1
                assert run.team.handle({"command": "tell", "belief": f"seen({sent})"})["ok"]
            run.trace.await_note("runs again", restarts + 1)
            wanted = f"target {sent}"
            run.team.handle({"command": "goal", "kind": "subgoal", "target": wanted})
            back_s = run.hands.await_pursuit("subgoal", wanted) - killed
        seen = [values[1] for values in run.trace.of("belief") if values[1].startswith("seen")]
        same_port = run.team._server is not None and run.team._server.port == port
    return {
        "sent": sent,
        "seen": seen,
        "notes": run.trace.notes,
        "same_port": same_port,
        "back_s": back_s,
        "restarts": run.report.server_restarts if run.report else None,
        "reconnects": run.report.reconnects if run.report else None,
    }


def coach_killed(folder: Path) -> dict[str, Any]:
    with RunningTeam(TeamSettings(folder)) as run:
        run.hands.await_pursuit("explore")
        first = run.companion_pid()
        os.kill(first, signal.SIGKILL)
        run.trace.await_note("is started again")
        answer = run.team.handle({"command": "goal", "kind": "subgoal", "target": "there"})
        run.hands.await_pursuit("subgoal", "there")
        second = run.companion_pid()
    return {"answer": answer, "is_another": first != second, "notes": run.trace.notes}


def more_agents(folder: Path) -> dict[str, Any]:
    """A second coach and an observer, each in a process of its own."""
    plan = '!start. +!start <- .send(eye, tell, saw("the start")); .wait(100000).'
    eye, other = CompanionSettings("eye", "observer"), CompanionSettings("second", "coach", plan)
    with RunningTeam(TeamSettings(folder, companions=(COACH, eye, other))) as run:
        run.trace.await_note("second saw the start")
        run.team.handle({"command": "tell", "to": "eye", "belief": 'saw("a goal")'})
        run.trace.await_note("coach saw a goal")
        answer = run.team.handle({"command": "tell", "to": "nobody", "belief": "x"})
        pids = {run.companion_pid(name) for name in ("coach", "eye", "second")}
    return {"processes": len(pids), "answer": answer}


def commands(folder: Path) -> dict[str, Any]:
    """Plans and beliefs for a running agent, and what is refused."""
    with RunningTeam(TeamSettings(folder)) as run:
        run.hands.await_pursuit("explore")
        handle = run.team.handle
        refused = [
            handle({"command": "plan", "text": "+!x <-\n  .pursue(1, 2);\n  )"}),
            handle({"command": "plan", "text": "+!x <- .fly(1)."}),
            handle({"command": "tell", "belief": "Not(a belief"}),
            handle({"command": "goal", "kind": "fly"}),
            handle({"command": "goal", "kind": "subgoal"}),
            handle({"command": "dance"}),
            handle({"command": "plan", "text": "x" * 70_000}),
        ]
        plan = "+!choose <- .pursue(exploit, none, 7, _)."
        sent = handle({"command": "plan", "text": plan})
        run.trace.await_note("has new plans")
        asked = time.monotonic()
        handle({"command": "goal", "kind": "explore"})
        run.hands.await_pursuit("exploit", since=asked)
        to_coach = handle({"command": "plan", "to": "coach", "text": "+!hop <- .note(hop)."})
        told = handle({"command": "tell", "to": "coach", "belief": "least(0.1)"})
        run.hands.is_over = True
        handle({"command": "goal", "kind": "explore"})
        run.join()
    return {
        "refused": refused,
        "sent": sent,
        "to_coach": to_coach,
        "told": told,
        "afterwards": handle({"command": "goal", "kind": "explore"}),
        "report": vars(run.report),
    }


def broken_plan(folder: Path) -> dict[str, Any]:
    settings = TeamSettings(folder, plan="!live.\n\n+!live <- .note(x)\n   .note(y).")
    return {"error": error_of(settings), "files": [str(path) for path in folder.rglob("*")]}


def port_taken(folder: Path) -> dict[str, Any]:
    with RunningTeam(TeamSettings(folder / "first")) as run:
        started = time.monotonic()
        error = error_of(TeamSettings(folder / "second", port=run.address.port))
        seconds = time.monotonic() - started
    return {"error": error, "port": run.address.port, "seconds": seconds}


def external_server(folder: Path) -> dict[str, Any]:
    """The server of one team is the external one of others; one has the wrong password."""
    os.environ["BDI_TEST_PASSWORD"] = '{"learner": "one", "coach": "two"}'
    with RunningTeam(TeamSettings(folder / "host")) as host:
        server = ExternalServer(
            "127.0.0.1",
            host.address.port,
            "localhost",
            password_variable="BDI_TEST_PASSWORD",
            user_prefix="guest-",
            verify=False,
            registers=True,
        )
        with RunningTeam(TeamSettings(folder / "guest", server=server)) as guest:
            guest.hands.await_pursuit("explore")
            guest.team.handle({"command": "goal", "kind": "subgoal", "target": "here"})
            guest.hands.await_pursuit("subgoal", "here")
            # It dies and comes back; for the guests it is somebody else's server.
            os.kill(host.server_pid, signal.SIGKILL)
            guest.trace.await_note("learner is connected again")
            guest.team.handle({"command": "goal", "kind": "subgoal", "target": "there"})
            guest.hands.await_pursuit("subgoal", "there")
            arguments = Path(f"/proc/{guest.companion_pid()}/cmdline").read_bytes().decode()
        os.environ["BDI_TEST_PASSWORD"] = "wrong"
        started = time.monotonic()
        wrong = error_of(TeamSettings(folder / "wrong", server=replace(server, registers=False)))
        wrong_s = time.monotonic() - started
        reading, writing = os.pipe()
        os.write(writing, b"wrong, too")
        os.close(writing)
        by_fd = replace(server, registers=False, password_variable="", password_fd=reading)
        wrong_by_fd = error_of(TeamSettings(folder / "wrong-fd", server=by_fd))
        untrusted = error_of(TeamSettings(folder / "strict", server=replace(server, verify=True)))
        port = host.address.port
    nobody = replace(server, port=port)
    started = time.monotonic()
    gone = error_of(TeamSettings(folder / "gone", server=nobody, start_patience_s=2.0))
    gone_s = time.monotonic() - started
    del os.environ["BDI_TEST_PASSWORD"]
    texts = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    return {
        "notes": guest.trace.notes,
        "wrong": wrong,
        "wrong_s": wrong_s,
        "wrong_by_fd": wrong_by_fd,
        "untrusted": untrusted,
        "gone": gone,
        "gone_s": gone_s,
        "missing": error_of(TeamSettings(folder / "missing", server=server)),
        "in_arguments": "two" in arguments,
        "on_disk": any(b"wrong, too" in text or b'"two"' in text for text in texts),
    }


def endless_plans(folder: Path) -> dict[str, Any]:
    found = {}
    plans = {
        "loop": "!live. +!live <- !!live.",
        "recursion": "!live(1). +!live(N) <- !live(N + 1).",
        "while": "!live. +!live <- while (true) { .note(a) }.",
        "query": "!live. +!live : .range(1000000000000, X) & X < 0 <- .note(a).",
        "rules": "p(X) :- p(X). !live. +!live : p(1) <- .note(a).",
        "bomb": "!live. +!live <- !!live; !!live.",
        "beliefs": "!live(1). +!live(N) <- +n(N); !!live(N + 1).",
        "handler": "!live. +!live <- !nothing. -!live <- !!live. +!nothing <- .fail.",
    }
    for name, plan in plans.items():
        started = time.monotonic()
        error = error_of(TeamSettings(folder / name, plan=plan))
        found[name] = {"error": error, "seconds": time.monotonic() - started}
    return found


def endless_plan_beside(folder: Path) -> dict[str, Any]:
    """One that is sent to a learner at work: it is ended, the learner goes on."""
    with RunningTeam(TeamSettings(folder)) as run:
        run.hands.await_pursuit("explore")
        run.team.handle({"command": "plan", "text": "!spin. +!spin <- !!spin."})
        run.trace.await_note("seems to go on for ever")
        # One that rests for a moment each time is held to a part of a core.
        run.team.handle({"command": "plan", "text": "!hum. +!hum <- .wait(1); +a; -a; !!hum."})
        run.trace.await_note("has new plans", 2)
        before, started = cpu_seconds(os.getpid()), time.monotonic()
        with run.hands.changed:
            run.hands.changed.wait(2.0)
        share = (cpu_seconds(os.getpid()) - before) / (time.monotonic() - started)
        asked = time.monotonic()
        run.team.handle({"command": "goal", "kind": "subgoal", "target": "there"})
        latency = run.hands.await_pursuit("subgoal", "there") - asked
    return {"notes": run.trace.notes, "share": share, "latency": latency, "error": str(run.error)}


def idle(folder: Path) -> dict[str, Any]:
    """Nothing to do but wait: what each process uses."""
    with RunningTeam(TeamSettings(folder)) as run:
        run.hands.await_pursuit("explore")
        pids = {"learner": os.getpid(), "coach": run.companion_pid(), "server": run.server_pid}
        before, started = {name: cpu_seconds(pid) for name, pid in pids.items()}, time.monotonic()
        with run.hands.changed:
            run.hands.changed.wait(5.0)
        seconds = time.monotonic() - started
        return {name: (cpu_seconds(pid) - before[name]) / seconds for name, pid in pids.items()}


def flood(folder: Path) -> dict[str, Any]:
    """A member that sends without end, to a learner that still obeys."""
    plan = "!flood(0). +!flood(N) <- .send(learner, tell, drop(N)); .wait(1); !!flood(N + 1)."
    flooders = tuple(CompanionSettings(f"f{number}", "observer", plan) for number in range(2))
    with RunningTeam(TeamSettings(folder, companions=(COACH, *flooders))) as run:
        run.hands.await_pursuit("explore")
        run.trace.await_event(lambda: len(run.trace.of("message")) > 500, "messages")
        before = memory_mb(os.getpid())
        run.trace.await_note("no more are taken")
        # What was sent before is heard before: a thousand messages may wait.
        asked = time.monotonic()
        run.team.handle({"command": "goal", "kind": "subgoal", "target": "there"})
        latency = run.hands.await_pursuit("subgoal", "there") - asked
        learner = run.team._learner
        assert learner is not None
        waiting = len(learner._inbox)
        return {
            "latency": latency,
            "grown_mb": memory_mb(os.getpid()) - before,
            "waiting": waiting,
            "notes": run.trace.notes,
            "messages": len(run.trace.of("message")),
        }


def strangers(folder: Path) -> dict[str, Any]:
    """Somebody else on this machine sends to the learner in the coach's name, without end."""
    with RunningTeam(TeamSettings(folder)) as run:
        run.hands.await_pursuit("explore")
        before = memory_mb(os.getpid())
        stranger = Account("stranger", "stranger", "localhost", "a password")
        sent = uvloop.run(_send_in_anothers_name(stranger, run.address, 3_000))
        run.trace.await_note("refused 1,000 message(s) from somebody outside the team")
        asked = time.monotonic()
        run.team.handle({"command": "goal", "kind": "subgoal", "target": "there"})
        latency = run.hands.await_pursuit("subgoal", "there") - asked
        grown = memory_mb(os.getpid()) - before
    heard = [values for values in run.trace.of("message") if "mischief" in values[3]]
    assert run.report is not None
    return {
        "sent": sent,
        "refused": dict(run.report.refused_messages),
        "heard": heard,
        "latency": latency,
        "grown_mb": grown,
    }


async def _send_in_anothers_name(account: Account, address: ServerAddress, count: int) -> int:
    connection = Connection(
        account, address, lambda stanza: None, lambda client: None, lambda note: None
    )
    await connection.open(30.0)
    for number in range(count):
        metadata = {"performative": "BDI", "ilf_type": "achieve", "number": "1", "base": "1"}
        message = Message("learner@localhost", "coach@localhost", "mischief", metadata=metadata)
        connection.send(message.prepare(connection.client))
        if number % 100 == 0:
            await asyncio.sleep(0)
    await asyncio.wait_for(connection.client.waiting_queue.join(), 30.0)
    await connection.close()
    return count


def orphans(folder: Path) -> dict[str, Any]:
    """A team whose process is killed: its children end as well. The test does the killing."""
    with RunningTeam(TeamSettings(folder)) as run:
        run.hands.await_pursuit("explore")
        print(json.dumps({"pids": [run.server_pid, run.companion_pid()]}), flush=True)
        signal.pause()
    return {}


def ends(folder: Path) -> dict[str, Any]:
    """The ways a team ends by itself."""
    plan = '!live. +!live <- .pursue(explore, none, 5, _); .finish("seen enough").'
    with RunningTeam(TeamSettings(folder / "a", plan=plan), ScriptedHands(0.01)) as finished:
        finished.join()
    with RunningTeam(TeamSettings(folder / "b", plan="!live. +!live <- .fail.")) as failed:
        failed.join()
    stopped = Team(TeamSettings(folder / "c"), ScriptedHands())
    stopped.stop()
    hands = ScriptedHands(0.01)
    setattr(hands, "pursue", _raise)  # noqa: B010 (mypy refuses the assignment)
    with RunningTeam(TeamSettings(folder / "d"), hands) as broken:
        broken.join()
    waiting_plan = "+!pursue_goal(K, T) <- .pursue(K, T, 5, _)."
    with RunningTeam(TeamSettings(folder / "e", plan=waiting_plan)) as waiting:
        waiting.team.handle({"command": "goal", "kind": "subgoal", "target": "there"})
        waiting.hands.await_pursuit("subgoal", "there")
    return {
        "finished": vars(finished.report),
        "failed": str(failed.error),
        "stopped": vars(stopped.run()),
        "broken": repr(broken.error),
        "waiting": vars(waiting.report),
        "children": [pid for pid in children() if exists(pid)],
    }


def _raise(kind: str, target: str, episodes: int) -> Any:
    raise ZeroDivisionError("in the hands")


def children() -> list[int]:
    text = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    return [int(pid) for pid in text.split()]


def error_of(settings: TeamSettings) -> dict[str, Any]:
    try:
        Team(settings, ScriptedHands()).run()
    except MosaicError as error:
        left = [pid for pid in children() if exists(pid)]
        return {**error.to_dict(), "kind": type(error).__name__, "left": left}
    raise AssertionError("there was no error")


if __name__ == "__main__":
    Path(sys.argv[2]).mkdir(parents=True, exist_ok=True)
    print(json.dumps(globals()[sys.argv[1]](Path(sys.argv[2])), default=str))
