"""Real agents in processes of their own, talking through a real XMPP server."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from tests.chaos.extent import slowdown
from tests.integration.bdi.bundle_python import command_for, environment, run_program
from tests.waiting import PATIENCE_S, wait_until

SECOND = 1.0
LONG_S = 3 * PATIENCE_S  # for scenarios with several teams


def test_a_goal_goes_through_coach_and_server_and_changes_what_the_learner_does(
    tmp_path: Path,
) -> None:
    told = run_program("team_scenarios", "goal_change", tmp_path)
    assert told["processes"] == 3 and told["was_stopped"]
    assert max(told["latencies"]) < SECOND * slowdown()
    print(f"goal changes after {[round(1000 * s, 1) for s in told['latencies']]} ms")
    # Nothing goes around the server, which listens on this machine only; nobody else listens.
    assert not told["arrived_without_server"]
    assert [address for address, _ in told["ports"]] == ["0100007F"]
    assert told["other_ports"] == []

    assert told["pursued"][:3] == [["explore", ""], ["subgoal", "row 0, column 3"], ["exploit", ""]]
    goal = 'pursue_goal(subgoal, "row 0, column 3")'
    assert ["in", "coach", "achieve", goal] in told["messages"]
    assert ["out", "coach", "tell", "progress(20, 0.2, 0.2)"] in told["messages"]
    assert ["added", goal + "[source(coach)]"] in told["goals"]
    assert ["achieved", goal + "[source(coach)]"] in told["goals"]
    labels = [label for label, _ in told["plans"]]
    assert {"live", "otherwise_explore", "new_goal", "follow_subgoal", "exploit_as_told"} <= {
        *labels
    }
    beliefs = [(added, text) for added, text, _ in told["beliefs"]]
    assert (True, 'wanted(subgoal, "row 0, column 3")') in beliefs
    assert (False, 'wanted(subgoal, "row 0, column 3")') in beliefs
    assert (True, "success_rate(0.2)") in beliefs
    assert {event for event, _ in told["intentions"]} >= {"start", "end"}
    assert {name.split("/")[0] for name in told["files"]} == {"coach.log", "xmpp"}


def test_a_server_that_is_killed_comes_back_and_nothing_is_lost(tmp_path: Path) -> None:
    told = run_program("team_scenarios", "server_killed", tmp_path)
    assert told["seen"] == [f"seen({number})" for number in range(1, told["sent"] + 1)]
    assert told["same_port"] and told["restarts"] == 2 and told["reconnects"] == 2
    notes = "\n".join(told["notes"])
    assert "learner lost the connection to the XMPP server" in notes
    assert "the XMPP server of this run ended, and is started again" in notes
    assert "runs again at localhost" in notes and "nothing is lost" in notes


def test_a_coach_that_is_killed_comes_back_and_hears_what_was_said_meanwhile(
    tmp_path: Path,
) -> None:
    told = run_program("team_scenarios", "coach_killed", tmp_path)
    assert told["answer"]["ok"] and told["is_another"]
    assert "coach ended with status -9 and is started again" in told["notes"]


def test_more_agents_each_have_a_process_of_their_own(tmp_path: Path) -> None:
    told = run_program("team_scenarios", "more_agents", tmp_path)
    assert told["processes"] == 3
    assert "nobody in this team is called 'nobody'" in told["answer"]["text"]


def test_commands_reach_the_running_agents_or_are_refused_with_a_place(tmp_path: Path) -> None:
    told = run_program("team_scenarios", "commands", tmp_path)
    texts = [answer["text"] for answer in told["refused"]]
    assert not any(answer["ok"] for answer in told["refused"])
    assert "line 3, column 3" in texts[0] and "no such action '.fly/1'" in texts[1]
    assert told["refused"][0]["problems"][0]["line"] == 3
    assert "'fly' is no goal" in texts[3] and "needs a target" in texts[4]
    assert "'dance' is no command" in texts[5] and "more than 65536 bytes" in texts[6]
    assert told["sent"]["ok"] and told["to_coach"]["ok"] and told["told"]["ok"]
    assert told["afterwards"] == {"ok": False, "text": "the agents are not running"}
    assert not told["report"]["was_stopped"]


def test_a_broken_plan_is_refused_before_anything_starts(tmp_path: Path) -> None:
    told = run_program("team_scenarios", "broken_plan", tmp_path)
    assert told["error"]["kind"] == "ConfigError" and told["error"]["details"]["field"] == "plan"
    assert "line 4, column 4: expected ';' or '.'" in told["error"]["message"]
    assert told["files"] == []


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    told = run_program("team_scenarios", "port_taken", tmp_path)
    assert told["error"]["message"].startswith(f"port {told['port']} is taken")
    assert told["error"]["details"]["field"] == "xmpp.port" and told["error"]["left"] == []


def test_an_external_server_by_address_and_password(tmp_path: Path) -> None:
    told = run_program("team_scenarios", "external_server", tmp_path, timeout_s=LONG_S)
    assert any("learner is connected again" in note for note in told["notes"])
    for wrong in (told["wrong"], told["wrong_by_fd"]):
        assert wrong["kind"] == "ConfigError" and wrong["left"] == []
        assert "refuses the password of guest-" in wrong["message"]
    assert "certificate" in told["untrusted"]["message"]
    assert "Connection refused" in told["gone"]["message"]
    assert "BDI_TEST_PASSWORD holds no password" in told["missing"]["message"]
    assert not told["in_arguments"] and not told["on_disk"]


def test_plans_that_would_never_end_are_ended_with_a_sentence(tmp_path: Path) -> None:
    told = run_program("team_scenarios", "endless_plans", tmp_path, timeout_s=LONG_S)
    for name, found in told.items():
        message = found["error"]["message"]
        assert message.startswith("the plans of the learner do nothing any more"), name
        assert found["error"]["left"] == []
    assert "seems to go on for ever" in told["loop"]["error"]["message"]
    assert "begin anew with !!" in told["recursion"]["error"]["message"]
    assert "more than 100,000 beliefs" in told["query"]["error"]["message"]
    assert "ask for one another without end" in told["rules"]["error"]["message"]
    assert "more than 500 intentions" in told["bomb"]["error"]["message"]


def test_an_endless_plan_beside_others_neither_stops_them_nor_eats_a_core(tmp_path: Path) -> None:
    told = run_program("team_scenarios", "endless_plan_beside", tmp_path)
    assert told["latency"] < SECOND * slowdown() and told["share"] < 0.3
    assert told["error"] == "None"
    notes = "\n".join(told["notes"])
    assert "the plan +!spin (line 1) was ended: it took 20,000 steps" in notes
    assert "are held to 2,000 steps a second" in notes


def test_agents_that_wait_use_next_to_nothing(tmp_path: Path) -> None:
    shares = run_program("team_scenarios", "idle", tmp_path)
    print(f"idle: {shares}")
    assert max(shares.values()) <= 0.02


def test_a_member_that_floods_the_learner_is_held_to_a_bound(tmp_path: Path) -> None:
    told = run_program("team_scenarios", "flood", tmp_path)
    assert told["latency"] < SECOND * slowdown() and told["waiting"] <= 200
    assert told["grown_mb"] < 30
    # Of two that flood it, either may be the first.
    assert any("there are 1,000 beliefs that come from f" in note for note in told["notes"])


def test_somebody_outside_the_team_is_not_heard(tmp_path: Path) -> None:
    told = run_program("team_scenarios", "strangers", tmp_path)
    assert told["heard"] == [] and told["refused"] == {
        "from somebody outside the team": told["sent"]
    }
    assert told["latency"] < SECOND * slowdown() and told["grown_mb"] < 30


def test_the_ways_a_team_ends(tmp_path: Path) -> None:
    told = run_program("team_scenarios", "ends", tmp_path)
    assert told["finished"]["final_words"] == "seen enough" and not told["finished"]["was_stopped"]
    assert "do nothing any more: the plan +!live (line 1) was ended" in told["failed"]
    assert told["stopped"]["was_stopped"] and told["waiting"]["was_stopped"]
    assert "ZeroDivisionError('in the hands')" in told["broken"] and told["children"] == []


def test_children_end_with_a_worker_that_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen(
        command_for("team_scenarios", "orphans", tmp_path),
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        pids = json.loads(process.stdout.readline())["pids"]
        assert all(os.path.exists(f"/proc/{pid}") for pid in pids)
        process.kill()
    wait_until(
        lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids), what="the children's end"
    )


def test_a_few_starts_and_stops_beside_busy_processes(tmp_path: Path) -> None:
    told = run_program("starts_and_stops", 5, tmp_path, 2, timeout_s=LONG_S)
    assert told["count"] == 5 and told["children"] == [] and told["descriptors_more"] <= 0
