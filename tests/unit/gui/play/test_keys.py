"""Keys of games: what is held becomes an action, and each environment takes what its map sends."""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest

from cleanrl_worker.environments.single import make_single
from cleanrl_worker.interactive.player import read_action
from mosaic.front.catalogue import environments
from mosaic.gui.play.model.keys import (
    KeyMap,
    NotPlayable,
    PlayAction,
    PlayKeys,
    action_space_text,
    atari_map,
    key_map_of,
    key_rows,
    page_keys,
)

ALL_ACTIONS = [
    "NOOP",
    "FIRE",
    "UP",
    "RIGHT",
    "LEFT",
    "DOWN",
    "UPRIGHT",
    "UPLEFT",
    "DOWNRIGHT",
    "DOWNLEFT",
    "UPFIRE",
    "RIGHTFIRE",
    "LEFTFIRE",
    "DOWNFIRE",
    "UPRIGHTFIRE",
    "UPLEFTFIRE",
    "DOWNRIGHTFIRE",
    "DOWNLEFTFIRE",
]


def keys_of(env_id: str, **more: Any) -> KeyMap:
    info = next((item for item in environments() if item.id == env_id), None)
    assert info is not None
    found = key_map_of(env_id, info.family, info.action_space, **more)
    assert isinstance(found, KeyMap), found
    return found


def test_discrete_keys() -> None:
    cart = keys_of("CartPole-v1")
    assert cart.action({"left"}) == 0 and cart.action({"right"}) == 1
    assert cart.action(set()) is None and cart.action({"left", "right"}) is None
    car = keys_of("MountainCar-v0")
    assert (car.action({"left"}), car.action({"right"}), car.idle) == (0, 2, (1,))
    assert keys_of("LunarLander-v3").action({"up", "x"}) == 2


def test_continuous_keys_and_their_opposites() -> None:
    car = keys_of("CarRacing-v3")
    assert car.action({"left", "up"}) == [-0.6, 0.7, 0.0]
    assert car.action({"left", "right", "down"}) == [0.0, 0.0, 0.7]
    assert keys_of("Pendulum-v1").action({"left"}) == [2.0]
    walker = keys_of("BipedalWalkerHardcore-v3")
    assert walker.action({"q", "s"}) == [1.0, -1.0, 0.0, 0.0]


def test_grids_have_the_actions_they_take() -> None:
    grid = keys_of("MiniGrid-DoorKey-5x5-v0")
    assert [grid.action({key}) for key in ("left", "right", "up", "p", "d", "space", "enter")] == [
        *range(7)
    ]
    assert grid.is_turn_based
    small = keys_of("MiniGrid-Dynamic-Obstacles-5x5-v0")
    assert small.keys == {"left", "right", "up"}
    assert [binding.text for binding in small.bindings] == ["turn", "forward"]


def test_atari_buttons_come_from_the_game() -> None:
    full = atari_map(ALL_ACTIONS)
    assert full.action({"up", "left", "space"}) == ALL_ACTIONS.index("UPLEFTFIRE")
    assert full.action({"left", "right", "space"}) == ALL_ACTIONS.index("FIRE")
    assert full.idle == (0,)
    pong = atari_map(["NOOP", "FIRE", "RIGHT", "LEFT", "RIGHTFIRE", "LEFTFIRE"])
    assert pong.action({"right"}) == 2 and pong.action({"right", "space"}) == 4
    assert "up" not in pong.keys
    breakout = atari_map(["NOOP", "FIRE", "RIGHT", "LEFT"])
    assert breakout.action({"right", "space"}) in (1, 2), "there is no button for both"
    assert atari_map(()).keys == frozenset()


def test_what_a_keyboard_cannot_do_is_said() -> None:
    cheetah = key_map_of("HalfCheetah-v5", "mujoco", "Box(-1.0, 1.0, (6,), float32)")
    assert isinstance(cheetah, NotPlayable) and "HalfCheetah-v5" in cheetah.reason
    assert isinstance(key_map_of("Mine-v0"), NotPlayable)
    own = key_map_of("my.module:Mine-v0", "", "Discrete(4)")
    assert isinstance(own, KeyMap) and own.action({"2"}) == 1 and own.is_turn_based


def test_spaces_in_the_words_of_the_catalogue() -> None:
    assert action_space_text({"type": "discrete", "n": 3}) == "Discrete(3)"
    assert action_space_text({"type": "continuous"}) == "Box"
    assert action_space_text(None) == ""


@pytest.mark.parametrize(
    "env_id",
    [
        "CartPole-v1",
        "MountainCar-v0",
        "Acrobot-v1",
        "MountainCarContinuous-v0",
        "Pendulum-v1",
        "LunarLander-v3",
        "LunarLanderContinuous-v3",
        "BipedalWalker-v3",
        "CarRacing-v3",
        "FrozenLake-v1",
        "CliffWalking-v1",
        "Taxi-v4",
        "Blackjack-v1",
        "MiniGrid-Empty-5x5-v0",
        "BabyAI-GoToRedBall-v0",
        "MiniGrid-Dynamic-Obstacles-5x5-v0",
    ],
)
def test_every_action_of_a_map_is_one_of_its_environment(env_id: str) -> None:
    key_map = keys_of(env_id)
    try:
        env = make_single(env_id, training=False)
    except Exception as error:
        if "not installed" in str(error):
            pytest.skip(str(error))
        raise
    try:
        sent = [key_map.action({key}) for key in key_map.keys] + list(key_map.idle)
        for action in sent:
            read_action(env.action_space, action)
        if isinstance(env.action_space, gymnasium.spaces.Discrete):
            assert len({*sent}) == env.action_space.n, "every action has a key, or is the idle one"
    finally:
        env.close()


def test_presses_become_commands_once() -> None:
    keys = PlayKeys(keys_of("CartPole-v1"))
    assert keys.press("left") and keys.press("left"), "a key that is held is no news"
    assert not keys.press("x")
    assert keys.take() == [{"cmd": "action", "action": 0}]
    assert keys.take() == []
    keys.press("right")
    keys.release("left")
    assert [command["action"] for command in keys.take()] == [None, 1]


def test_a_short_press_is_sent_as_press_and_release() -> None:
    keys = PlayKeys(keys_of("LunarLander-v3"))
    keys.press("up")
    keys.release("up")
    assert [command["action"] for command in keys.take()] == [2, None]
    keys.press("left")
    keys.release_all()
    assert [command["action"] for command in keys.take()] == [1, None]
    keys.release_all()
    assert keys.take() == []


def test_each_press_is_a_turn() -> None:
    keys = PlayKeys(keys_of("FrozenLake-v1"))
    for key in ("left", "down"):
        keys.press(key)
        keys.release(key)
    keys.press("left")
    assert [command["action"] for command in keys.take()] == [0, 1, 0]


def test_the_page_leaves_the_game_its_keys() -> None:
    def pause_of(key_map: KeyMap, is_acting: bool) -> str:
        found = page_keys(key_map, is_acting)
        return next(key for key, action in found.items() if action is PlayAction.PAUSE)

    assert pause_of(keys_of("CartPole-v1"), True) == "space"
    assert pause_of(atari_map(ALL_ACTIONS), True) == "p"
    assert pause_of(keys_of("MiniGrid-Empty-5x5-v0"), True) == "k"
    assert pause_of(keys_of("MiniGrid-Empty-5x5-v0"), False) == "space"
    for info in environments():
        meanings = ALL_ACTIONS if info.family == "atari" else ()
        key_map = key_map_of(info.id, info.family, info.action_space, meanings)
        if isinstance(key_map, KeyMap):
            page = page_keys(key_map, True)
            assert not key_map.keys & set(page), info.id
            assert {PlayAction.RESET, PlayAction.TAKE_OVER, PlayAction.END} <= {*page.values()}


def test_every_key_of_the_page_itself_is_told() -> None:
    told = dict((keys, text) for text, keys in key_rows())
    assert set(told) == {"Space", ".", "-", "+", "R", "N", "T", "?", "Esc Esc"}
    assert all(told.values())
