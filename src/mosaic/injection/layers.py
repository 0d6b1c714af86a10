"""Counting steps in one layer of each environment: the outermost of those we know.

An environment is a stack of wrappers. We follow `reset` of a few of their classes, and of every
innermost one; the first one that is entered is the outermost, and the `step` of its class, of no
other, counts from then on. Classes are changed, not instances: copies and pickles of environments
stay what they are.
"""

from __future__ import annotations

import functools
import inspect
import sys
import weakref
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType
from typing import Any

from mosaic.injection.complaints import Complaints
from mosaic.injection.env_watch import EnvWatch, inner_watch
from mosaic.injection.purpose import FRAMES, is_kept_for_evaluation
from mosaic.injection.watches import Watches, innermost

Step = Callable[..., Any]
Skip = Callable[[Any], Any]  # what the next reset is called of; None where nothing is skipped
Unwatched = Callable[[Any, Exception], None]  # an environment that cannot be counted, and why
_ORIGINAL = "_mosaic_original"  # of a method in place of which ours stands
_OUR_FRAMES = 3  # between one who resets an environment and the question what for


class Layers:
    def __init__(self, watches: Watches, complaints: Complaints) -> None:
        self._watches, self._complaints = watches, complaints
        self._purposes = watches.purposes
        self._counting: dict[type, Step] = {}  # and the step it had before
        self._special: dict[type, Callable[..., Step]] = {}
        self._resets: set[CodeType] = set()  # our own

    def count_with(self, kind: type, make: Callable[..., Step]) -> None:
        """A step of its own that counts, for a class that can do with less than ours.

        `make` is called as `counting` is, without the original.
        """
        self._special[kind] = make

    def __reduce__(self) -> tuple[Any, ...]:
        # With a class that is pickled by value: what we put there does nothing elsewhere.
        return type(None), ()

    def follow_reset(
        self, kind: type, *, is_innermost: bool = False, skip: Skip | None = None
    ) -> None:
        written: Any = kind.__dict__.get("reset")
        if written is None or original_method(written) is not written:
            return  # it has none of its own, or one that is followed
        original = as_function(written)
        is_usual = _names_and_defaults(original) == _names_and_defaults(_usual_arguments)
        if is_usual:
            followed = self._usual_reset(original, is_innermost, skip)
        else:
            followed = self._any_reset(original, is_innermost)
        self._resets.add(followed.__code__)
        kind.reset = replacement_for(written, followed)  # type: ignore[attr-defined]

    def _any_reset(self, original: Step, is_innermost: bool) -> Step:
        known = self._watches.known
        layers: Layers | None = self

        def reset(self: Any, *args: Any, **kwargs: Any) -> Any:
            if layers is None:  # see __reduce__
                return original(self, *args, **kwargs)
            mine = known.get(id(self)) if is_innermost else getattr(self, "_mosaic_watch", None)
            if mine is not None and (mine.outer or mine).is_resetting:
                return original(self, *args, **kwargs)  # within the outermost one
            watch = layers._begin(self, mine, kwargs.get("seed"), kwargs.get("options"))
            if watch is not None and watch.tape is not None and args:
                watch.tape.give_up("its reset has arguments without a name")
            try:
                return original(self, *args, **kwargs)
            finally:
                if watch is not None:
                    watch.is_resetting = False

        return reset

    def _usual_reset(self, original: Step, is_innermost: bool, skip: Skip | None) -> Step:
        """The same, where arguments need not be gathered first, as fast as it can be: in many
        environments episodes are short."""
        known, here = self._watches.known, sys._getframe
        layers: Layers | None = self

        def reset(self: Any, *, seed: Any = None, options: Any = None) -> Any:
            if layers is None:
                return original(self, seed=seed, options=options)
            try:
                watch = known[id(self)] if is_innermost else self._mosaic_watch
            except (KeyError, AttributeError):
                watch = None
            if watch is None or watch.is_new:
                if watch is not None and (watch.outer or watch).is_resetting:
                    return original(self, seed=seed, options=options)
                watch = layers._begin(self, watch, seed, options)
                if watch is None:
                    return original(self, seed=seed, options=options)
            elif watch.is_resetting:
                return original(self, seed=seed, options=options)
            else:
                try:
                    is_evaluation = watch.told_purpose
                    if is_evaluation is None:
                        # Whether anybody says what for; nearly always nobody does, and a call of
                        # `purposes` would take as long again as to look.
                        purposes = layers._purposes
                        silent = purposes.silent
                        frame: FrameType | None = here(1)
                        for _ in FRAMES:
                            if frame is None or frame.f_code.co_name not in silent:
                                break
                            frame = frame.f_back
                        if frame is None and not watch.is_kept_for_evaluation:
                            purposes.has_trained, is_evaluation = True, False
                        else:
                            frame = None  # the script's, which an error would keep alive
                            is_evaluation = purposes.is_evaluation(watch.is_kept_for_evaluation, 2)
                    layers._watches.begun += 1
                    watch.start_episode(is_evaluation, seed, options)
                except Exception:  # noqa: BLE001  # more slowly, with a word about it
                    layers._begin(self, watch, seed, options)
            try:
                below = None if skip is None else skip(self)
                if below is not None:
                    return below.reset(seed=seed, options=options)
                return original(self, seed=seed, options=options)
            finally:
                watch.is_resetting = False

        return reset

    def follow_class_of(self, env: Any) -> None:
        """For one that is of no library, so that its classes are not known."""
        try:
            for kind in type(env).__mro__:
                if kind.__dict__.get("reset") is not None:
                    self.follow_reset(kind, is_innermost=True)
        except Exception as error:  # noqa: BLE001  # the script has it all the same
            self._watches.not_counted(env, error)

    def follow_close(self, kind: type) -> None:
        original = kind.__dict__.get("close")
        if not isinstance(original, FunctionType):
            return
        watches, complaints = self._watches, self._complaints

        @functools.wraps(original)
        def close(self: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                watches.close(innermost(self))
            except Exception as error:  # noqa: BLE001  # the script closes its environment anyway
                complaints.say("closing the live view", error)
            return original(self, *args, **kwargs)

        kind.close = close  # type: ignore[attr-defined]

    def _begin(self, env: Any, mine: EnvWatch | None, seed: Any, options: Any) -> EnvWatch | None:
        """The outermost reset of an environment begins; None when it is not to be watched."""
        try:
            is_counted = mine is not None and mine.outer is None and not mine.is_new
            watch = mine if is_counted else self._watch_of(env)
            if watch is not None:
                self._watches.begun += 1
                is_evaluation = watch.told_purpose
                if is_evaluation is None:
                    is_kept = watch.is_kept_for_evaluation
                    is_evaluation = self._purposes.is_evaluation(is_kept, _OUR_FRAMES)
                watch.start_episode(is_evaluation, seed, options)
        except Exception as error:  # noqa: BLE001  # the script resets its environment anyway
            self._watches.not_counted(env, error)
            return None
        return watch

    def _watch_of(self, env: Any) -> EnvWatch | None:
        unwrapped = innermost(env)
        if getattr(unwrapped, "num_envs", None) is not None:
            return None  # a vector of environments, which older versions call one
        if id(unwrapped) not in self._watches.known:
            whole = self._reset_around()
            if whole is not None:
                self._watches.add_part(unwrapped, whole)
        watch = self._watches.of(unwrapped)
        if watch.outer is not None:
            return None  # a part of another environment
        if watch.is_resetting:
            # A wrapper that is seen for the first time. Not the innermost one: Python finds the
            # attributes of an object more slowly once there are more than thirty.
            if env is not unwrapped:
                object.__setattr__(env, "_mosaic_watch", inner_watch(watch))
            return None
        if watch.owner is None or watch.owner() is not env:
            self._hand_over(watch, env)
        return watch

    def _reset_around(self) -> EnvWatch | None:
        """Of another environment, whose reset is running: it uses the one that is reset now."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if frame.f_code in self._resets:
                watch: EnvWatch | None = frame.f_locals.get("watch")
                if watch is not None:
                    return watch
            frame = frame.f_back
        return None

    def _hand_over(self, watch: EnvWatch, env: Any) -> None:
        before = None if watch.owner is None else watch.owner()
        if before is not None:
            object.__setattr__(before, "_mosaic_watch", inner_watch(watch))
        kind = next((kind for kind in type(env).__mro__ if "step" in kind.__dict__), None)
        if kind is None:
            raise TypeError("its class has no step")
        self._count_in(kind)
        watch.is_kept_for_evaluation = is_kept_for_evaluation(innermost(env))
        watch.layer, watch.owner = kind, weakref.ref(env)
        object.__setattr__(env, "_mosaic_watch", watch)
        self._watches.load_tape(watch, env)

    def _count_in(self, kind: type) -> None:
        if kind in self._counting:
            return
        # Of another class that counts, it may be: as it was written.
        self._counting[kind] = original_method(kind.__dict__["step"])
        # A wrapper may inherit from another one that counts as well: those look twice.
        related = [
            other for other in self._counting if issubclass(kind, other) or issubclass(other, kind)
        ]
        for other in related:
            written = self._counting[other]
            step = self._counted(as_function(written), other, has_relatives=len(related) > 1)
            other.step = replacement_for(written, step)  # type: ignore[attr-defined]

    def _counted(self, original: Step, kind: type, *, has_relatives: bool) -> Step:
        watches = self._watches

        def unwatched(env: Any, error: Exception) -> None:
            # It has no watch, or that of the one it is a copy of (None): not reset since.
            if env.__dict__.get("_mosaic_watch") is not None:
                watches.not_counted(env, error)
            object.__setattr__(env, "_mosaic_watch", inner_watch(None))

        is_old = kind.__module__.split(".")[0] == "gym"
        if has_relatives or is_old or not _takes_only_an_action(original):
            return counting_any(original, kind, unwatched)
        is_recorded = self._watches.is_recording
        if kind in self._special:
            return self._special[kind](unwatched, is_recorded=is_recorded)
        return (counting_and_recording if is_recorded else counting)(original, unwatched)


def counting(original: Step, unwatched: Unwatched) -> Step:
    """A step that counts. It runs millions of times, so each of its lines has been weighed."""

    def step(self: Any, action: Any) -> Any:
        result = original(self, action)
        try:
            watch = self._mosaic_watch
            watch.steps += 1
            watch.total += result[1]
            if result[2] or result[3] or watch.tap.is_due:
                watch.notice(result[1], result[2], result[3])
        except Exception as error:  # noqa: BLE001  # the script goes on
            unwatched(self, error)
        return result

    return step


def counting_and_recording(original: Step, unwatched: Unwatched) -> Step:
    """The same, with a tape. The action is kept before the step, which may change it."""

    def step(self: Any, action: Any) -> Any:
        try:
            watch = self._mosaic_watch
            acted = watch.acted  # called as `watch.acted(…)`, it is found four times as slowly
            acted(action)
        except Exception as error:  # noqa: BLE001  # the script goes on
            watch = count_unrecorded(self, error, unwatched)
        result = original(self, action)
        try:
            try:
                earned = watch.earned
                earned(result[1])
            except Exception as error:  # noqa: BLE001  # counting goes on
                count_unrecorded(self, error, unwatched).count(result[1])
            if result[2] or result[3] or watch.tap.is_due:
                watch.notice(result[1], result[2], result[3])
        except Exception as error:  # noqa: BLE001  # the script goes on
            unwatched(self, error)
        return result

    return step


def count_unrecorded(env: Any, error: Exception, unwatched: Unwatched) -> EnvWatch:
    """What the step did is counted, at least; returns where."""
    watch: EnvWatch | None = env.__dict__.get("_mosaic_watch")
    if watch is None:  # a copy, not reset since
        unwatched(env, error)
        watch = env._mosaic_watch
    else:
        watch.stop_tape(error)
    assert watch is not None
    return watch


def counting_any(original: Step, layer: type, unwatched: Unwatched) -> Step:
    """For other arguments, for results as before Gym 0.26 (observation, reward, done, info), and
    for classes that inherit from each other, of which only one counts."""

    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            watch = self._mosaic_watch
            if watch.layer is layer:
                watch.acted(args[0] if args else kwargs["action"])
        except Exception as error:  # noqa: BLE001  # the script goes on
            count_unrecorded(self, error, unwatched)
        result = original(self, *args, **kwargs)
        try:
            watch = self._mosaic_watch
            if watch.layer is layer:
                try:
                    watch.earned(result[1])
                except Exception as error:  # noqa: BLE001  # counting goes on
                    count_unrecorded(self, error, unwatched).count(result[1])
                terminated, truncated = result[2], len(result) == 5 and result[3]
                if terminated or truncated or watch.tap.is_due:
                    watch.notice(result[1], terminated, truncated)
        except Exception as error:  # noqa: BLE001  # the script goes on
            unwatched(self, error)
        return result

    return step


def replacement_for(written: Any, ours: Step) -> Step:
    """Our method, as the one in whose place it stands to whoever looks at it."""
    wrapped = functools.wraps(written)(ours)
    setattr(wrapped, _ORIGINAL, written)
    return wrapped


def original_method(method: Any) -> Any:
    """A method of a class without ours in its place."""
    return method.__dict__.get(_ORIGINAL, method) if isinstance(method, FunctionType) else method


def as_function(method: Any) -> Step:
    """Compiled methods, partial ones and other descriptors can be called like those of Python."""
    if isinstance(method, FunctionType):
        return method
    if not hasattr(method, "__get__"):
        raise TypeError("its methods are no functions")

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return method.__get__(self, type(self))(*args, **kwargs)

    return call


def _takes_only_an_action(step: Step) -> bool:
    return _names_and_defaults(step) == _names_and_defaults(_one_action)


def _usual_arguments(self: Any, *, seed: Any = None, options: Any = None) -> None:
    """A reset takes these and nothing else."""


def _one_action(self: Any, action: Any) -> None:
    """A step takes this and nothing else."""


def _names_and_defaults(function: Step) -> list[tuple[Any, ...]]:
    parameters = inspect.signature(function).parameters.values()
    return [(parameter.name, parameter.kind, parameter.default) for parameter in parameters]


Look = Callable[[type], None]


class Subclasses:
    """Every class below one of a library, those that there are and those to come."""

    def __init__(self, complaints: Complaints) -> None:
        self._complaints = complaints
        self._followed: list[tuple[type, Look]] = []

    def follow(self, base: Any, look: Look) -> None:
        """`look` gets each class once it is made, or twice: see `filled`."""
        self._followed.append((base, look))
        for kind in _below(base):
            self._look_at(kind, look)
        original = base.__dict__.get("__init_subclass__")
        subclasses = self

        def __init_subclass__(cls: Any, /, **kwargs: Any) -> None:  # noqa: N807
            if original is None:
                super(base, cls).__init_subclass__(**kwargs)
            else:
                original.__get__(None, cls)(**kwargs)
            subclasses._look_at(cls, look)

        base.__init_subclass__ = classmethod(__init_subclass__)

    def filled(self, kind: type) -> None:
        """Unpickled classes are made empty and get their methods later."""
        for base, look in self._followed:
            if issubclass(kind, base):
                self._look_at(kind, look)

    def _look_at(self, kind: type, look: Look) -> None:
        try:
            look(kind)
        except Exception as error:  # noqa: BLE001  # the script has its class all the same
            self._complaints.say(f"following {kind.__name__}", error)


def _below(base: type) -> list[type]:
    found: dict[type, None] = {}
    waiting: list[type] = base.__subclasses__()
    while waiting:
        kind = waiting.pop()
        if kind not in found:
            found[kind] = None
            waiting += kind.__subclasses__()
    return list(found)
