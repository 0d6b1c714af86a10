"""Where upstream's scripts are looked for, and what is said when they are not there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cleanrl_worker.upstream.interpreter import Interpreter, interpreter_path, require_packages
from cleanrl_worker.upstream.scripts import find_scripts
from mosaic.errors import ConfigError, DependencyError
from tests.unit.cleanrl_worker.upstream.upstream_samples import TYRO, write_script


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    scripts = tmp_path / "checkout" / "cleanrl"
    for name in ("ppo", "ppo_procgen", "dqn", "__init__"):
        write_script(scripts, name, TYRO)
    write_script(scripts / "ppo_isaacgym", "ppo_isaacgym", TYRO)
    (scripts / "notes.md").touch()
    (scripts / "data").mkdir()
    return scripts.parent


def test_a_checkout_its_folder_and_one_script_are_understood(checkout: Path) -> None:
    scripts = checkout / "cleanrl"
    for path in (checkout, scripts):
        found = find_scripts(str(path), sys.executable)
        assert sorted(found.scripts) == ["dqn", "ppo", "ppo_isaacgym", "ppo_procgen"]
        assert (found.path, found.root) == (scripts, checkout)
    one = find_scripts(str(scripts / "dqn.py"), sys.executable)
    assert (dict(one.scripts), one.root) == ({"dqn": scripts / "dqn.py"}, checkout)


def test_any_folder_of_scripts_will_do(tmp_path: Path) -> None:
    write_script(tmp_path / "mine", "sarsa", TYRO)
    assert find_scripts(str(tmp_path / "mine"), sys.executable).root == tmp_path / "mine"


def test_unknown_script_is_refused_with_the_nearest_and_the_folder(checkout: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        find_scripts(str(checkout), sys.executable).find("ppo_procgn")
    assert caught.value.details["field"] == "algo"
    assert str(checkout / "cleanrl") in caught.value.message
    assert "did you mean ppo_procgen" in caught.value.hint
    assert "dqn, ppo" in caught.value.hint


@pytest.mark.parametrize(
    ("name", "said"),
    [("gone", "does not exist"), ("empty", "no scripts"), ("a.txt/x", "does not exist")],
)
def test_a_place_without_scripts_is_refused(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match=said) as caught:
        find_scripts(str(tmp_path / name), sys.executable)
    assert caught.value.details["field"] == "extras.upstream_path"


def test_interpreter_is_named_by_its_file(tmp_path: Path) -> None:
    assert interpreter_path(None) == sys.executable
    environment = tmp_path / "env"
    python = environment / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    assert interpreter_path(str(python)) == str(python), "not where the link leads"
    with pytest.raises(ConfigError, match="is not a file") as caught:
        interpreter_path(str(environment))
    assert str(python) in caught.value.hint
    plain = tmp_path / "plain"
    plain.touch()
    with pytest.raises(ConfigError, match="is not executable"):
        interpreter_path(str(plain))


def test_missing_packages_are_named_with_what_to_install() -> None:
    newer = Interpreter("/envs/x/bin/python", (3, 12), {"torch": []})
    require_packages(newer, ["torch"], Path("dqn.py"))
    with pytest.raises(DependencyError) as caught:
        require_packages(newer, ["torch", "distutils", "stable_baselines3"], Path("dqn.py"))
    assert "dqn.py imports distutils, stable_baselines3" in caught.value.message
    assert "(Python 3.12)" in caught.value.message
    assert "/envs/x/bin/python -m pip install setuptools stable-baselines3" in caught.value.hint
    assert "no distutils since 3.12" in caught.value.hint
