"""LaunchState: who is chosen to act, which form is open, and what stands in the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from psygnal import Signal

from mosaic.contracts.bundles import VenvState
from mosaic.front.known_workers import known_workers
from mosaic.gui.launch.model.choices import (
    HUMAN,
    RosterEntry,
    can_load,
    roster,
    runs_commands,
    script_worker,
)
from mosaic.gui.launch.model.launch_form import LaunchForm, Problem
from mosaic.gui.launch.model.policy_forms import EvaluateForm, ResumeForm
from mosaic.gui.launch.model.saved_launch import SavedLaunch, saved_form
from mosaic.gui.launch.model.script_form import ScriptForm
from mosaic.gui.launch.model.train_form import TrainForm
from mosaic.gui.launch.model.worker_form import WorkerForm
from mosaic.gui.play.model.keys import KeyMap, NotPlayable
from mosaic.gui.play.model.plan import keys_for
from mosaic.gui.state.compatibility import fitting_algorithms
from mosaic.gui.state.notices import Notice, Severity
from mosaic.gui.state.targets import FormTarget, Mode, Operation, PlayTarget, PolicyTarget
from mosaic.gui.state.workbench_state import Connection, WorkbenchState
from mosaic.gui.state.worker_bundles import bundle_of, bundle_with, can_start, has_bundles

_POLICY_OPERATIONS = (Operation.EVALUATE, Operation.RESUME)


class LaunchState:
    """Who is chosen to act, which form is open, and what stands in the way."""

    roster_changed = Signal()
    form_changed = Signal()  # another form is open
    refreshed = Signal()  # the open form may be right or wrong for another reason now

    def __init__(self, state: WorkbenchState, saved: Mapping[str, Any] | None = None) -> None:
        """`saved`: what `values` said in the session before."""
        self.state = state
        self._saved = SavedLaunch.read(saved or {})
        self.worker = ""
        self._absent = ""  # the name of one that is looked at instead
        # Workers and algorithms arrive in any order: which worker trains is known with both.
        self._is_worker_settled = False
        self.operation = Operation.TRAIN
        # Each worker opens with what was last done with it.
        self._last_operation: dict[str, Operation] = dict(self._saved.operations)
        self._forms: dict[tuple[str, Operation], LaunchForm] = {}
        self.play_policy: PolicyTarget | None = None
        state.workers_changed.connect(self._on_facts_changed)
        state.catalogue_changed.connect(self._on_facts_changed)
        state.health_changed.connect(self._on_health_changed)
        state.connection_changed.connect(self._on_connection_changed)
        state.environment_changed.connect(self._on_environment_changed)
        state.environment_asked.connect(self._on_environment_asked)
        state.bundles.changed.connect(self._on_bundles_changed)
        self._bundle_states = self._states_of_bundles()
        if self._saved.env_id:
            state.choose_environment(self._saved.env_id)
        state.set_mode(self._saved.mode)
        self._on_facts_changed()

    def values(self) -> dict[str, Any]:
        """For the next session, without secrets."""
        if not self._is_worker_settled:
            return self._saved.values()
        forms = {key: saved_form(form) for key, form in self._forms.items()}
        return SavedLaunch(
            self.state.env_id,
            self.state.mode,
            self.worker,
            {**self._last_operation, self.worker: self.operation},
            {**self._saved.forms, **forms},
        ).values()

    # Who

    @property
    def entries(self) -> list[RosterEntry]:
        return roster(self.state.workers, self.state.mode, known_workers(), self.state.bundles)

    @property
    def chosen_entry(self) -> str:
        if self.state.mode is Mode.HUMAN:
            return HUMAN
        return self.absent.name if self.absent is not None else self.worker

    @property
    def absent(self) -> RosterEntry | None:
        """A worker that is known but not installed, while somebody looks at it."""
        if self.state.mode is not Mode.AGENT:
            return None
        absent = (entry for entry in self.entries if not entry.is_installed)
        return next((entry for entry in absent if entry.name == self._absent), None)

    def choose(self, name: str) -> None:
        """An entry of the roster; a worker, chosen while a person plays, takes over."""
        if name == HUMAN:
            self.state.set_mode(Mode.HUMAN)
            return
        if self.state.mode is Mode.HUMAN:
            self.state.set_mode(Mode.AGENT)
        was_absent = self._absent
        is_known = self.state.worker(name) is not None
        self._absent = "" if is_known else name
        if self.absent is not None or (was_absent and name == self.worker):
            self.roster_changed.emit()
            self.form_changed.emit()
            return
        self._is_worker_settled = True
        if name != self.worker:
            self.worker = name
            self.operation = self._last_operation.get(name, self.first_operation)
            self.roster_changed.emit()
            self.form_changed.emit()

    @property
    def first_operation(self) -> Operation:
        info = self.state.worker(self.worker)
        return Operation.SCRIPT if runs_commands(info) else Operation.TRAIN

    @property
    def can_use_trained(self) -> bool:
        info = self.state.worker(self.worker)
        return info is not None and can_load(info)

    @property
    def tells_packages(self) -> bool:
        """Whether what the catalogue misses here is missing for whoever acts, too."""
        state = self.state
        if state.mode is Mode.AGENT:
            return not has_bundles(state.worker(self.worker))
        return bundle_with(state.env_id, state.workers, state.bundles) is None

    @property
    def can_resume(self) -> bool:
        info = self.state.worker(self.worker)
        return bool(info and info.capabilities and info.capabilities.supports_resume)

    # What

    @property
    def is_using_trained(self) -> bool:
        return self.operation in _POLICY_OPERATIONS

    def set_operation(self, operation: Operation) -> None:
        if operation is not self.operation:
            self.operation = operation
            self._last_operation[self.worker] = operation
            self.form_changed.emit()

    @property
    def form(self) -> LaunchForm:
        key = (self.worker, self.operation)
        if key not in self._forms:
            self._forms[key] = self._make_form()
            # A form that is made before its algorithms are known gives way to another.
            if self._is_worker_settled and (saved := self._saved.forms.pop(key, None)):
                saved.fill(self._forms[key])
        return self._forms[key]

    def _make_form(self) -> LaunchForm:
        match self.operation:
            case Operation.EVALUATE:
                return EvaluateForm(self.state, self.worker)
            case Operation.RESUME:
                return ResumeForm(self.state, self.worker)
            case Operation.SCRIPT:
                return ScriptForm(self.state, self.worker)
            case _:
                if any(item.worker == self.worker for item in self.state.algorithms):
                    return TrainForm(self.state, self.worker)
                return WorkerForm(self.state, self.worker)

    def use_policy(self, policy: PolicyTarget | None) -> None:
        form = self.form
        if isinstance(form, EvaluateForm | ResumeForm):
            form.use_policy(policy)
            self.refreshed.emit()

    def open_form(self, target: FormTarget) -> list[str]:
        """Opens the form that is asked for; returns the names of values that did not fit."""
        values = dict(target.values)
        self.state.set_mode(Mode.AGENT)
        self.choose(self._worker_for(target, str(values.pop("worker", ""))))
        operation = target.operation
        if operation is Operation.TRAIN:
            operation = self.first_operation
        self.set_operation(operation)
        form = self.form
        if target.policy is not None and isinstance(form, EvaluateForm | ResumeForm):
            form.use_policy(target.policy)
        if isinstance(form, TrainForm):
            form.starting_point = target.policy
        if values:
            form.form.reset_all()
        refused = form.load(values)
        self.form_changed.emit()
        return refused

    def play_target(self) -> PlayTarget | None:
        """What "Play" starts; None while something is missing."""
        if not self.state.env_id:
            return None
        if self.state.mode is Mode.HYBRID:
            if self.play_policy is None:
                return None
            return PlayTarget(self.state.env_id, Mode.HYBRID, self.play_policy)
        return PlayTarget(self.state.env_id, Mode.HUMAN)

    def _worker_for(self, target: FormTarget, named: str) -> str:
        if target.operation is Operation.SCRIPT:
            return script_worker(self.state.workers)
        if named and self.state.worker(named) is not None:
            return named
        if target.policy is not None:
            return target.policy.worker
        algo = target.values.get("algo")
        found = next((item.worker for item in self.state.algorithms if item.name == algo), "")
        if found:
            return found
        # A form for training is no use with a worker that only runs what it is told.
        trains = any(item.worker == self.worker for item in self.state.algorithms)
        return self.worker if trains else self._first_worker()

    def _first_worker(self) -> str:
        """One that is ready and can train something, if there is one; the most versatile first."""
        names = [worker.name for worker in self.state.workers]
        training = self._counted_algorithms()
        trainers = sorted(filter(training.get, names), key=lambda name: -training[name])
        ready = {
            worker.name for worker in self.state.workers if can_start(worker, self.state.bundles)
        }
        able = [name for name in trainers if name in ready]
        return next(iter([*able, *trainers, *names]), "")

    def _counted_algorithms(self) -> Counter[str]:
        """How many each worker has."""
        return Counter(item.worker for item in self.state.algorithms if item.is_available)

    # What changed elsewhere

    def _on_facts_changed(self) -> None:
        known = {worker.name for worker in self.state.workers}
        if not self._is_worker_settled or self.worker not in known:
            self.worker = self._saved.worker if self._saved.worker in known else ""
            self.worker = self.worker or self._first_worker()
            self.operation = self._last_operation.get(self.worker, self.first_operation)
            self._is_worker_settled = bool(known and self.state.algorithms)
        for key, form in list(self._forms.items()):
            trains = any(item.worker == key[0] for item in self.state.algorithms)
            if isinstance(form, WorkerForm) and trains:
                del self._forms[key]  # its algorithms were not known yet
            else:
                form.refresh()
        self.roster_changed.emit()
        self.form_changed.emit()

    def _on_health_changed(self, _: object) -> None:
        self._refresh_form()

    def _on_connection_changed(self, _: str) -> None:
        self.refreshed.emit()

    def _on_bundles_changed(self) -> None:
        """Far more often than a worker becomes ready by it."""
        states = self._states_of_bundles()
        if states != self._bundle_states:
            self._bundle_states = states
            self.roster_changed.emit()
            self.refreshed.emit()

    def _states_of_bundles(self) -> list[VenvState | None]:
        found = (bundle_of(worker, self.state.bundles) for worker in self.state.workers)
        return [None if info is None else info.state for info in found]

    def _on_environment_changed(self, _: str) -> None:
        self._refresh_form()

    def _on_environment_asked(self, env_id: str) -> None:
        """By somebody who wants to do something there: a worker without environments gives way."""
        if self.state.mode is not Mode.AGENT or not self._is_worker_settled:
            return
        if self.absent is None and (self.is_using_trained or self.form.has_environment):
            return
        name = self._worker_using(env_id)
        if name:
            self.choose(name)
            self.set_operation(Operation.TRAIN)
        else:
            text = f"No installed worker trains in {env_id}: see `mosaic algos` for what there is"
            self.state.say(Notice(text, Severity.BAD))

    def _worker_using(self, env_id: str) -> str:
        """The most versatile that has an algorithm for it, those that are ready before others."""
        environment = self.state.environment(env_id)
        able = {
            item.worker
            for item in self.state.algorithms
            if environment is None or fitting_algorithms(environment, [item])
        }
        counts, bundles = self._counted_algorithms(), self.state.bundles
        found = [worker for worker in self.state.workers if worker.name in able]
        found.sort(key=lambda worker: (not can_start(worker, bundles), -counts[worker.name]))
        return found[0].name if found else ""

    def _refresh_form(self) -> None:
        for form in self._forms.values():
            form.refresh()
        self.refreshed.emit()


class KeyRow(NamedTuple):
    keys: str
    text: str


def key_rows(launch: LaunchState) -> tuple[list[KeyRow], str]:
    """The rows of the key map, and a note on it."""
    found = _keys(launch)
    if isinstance(found, NotPlayable):
        return [], ""  # `play_problem` says why
    rows = [KeyRow("  ".join(item.signs), item.text) for item in found.bindings]
    note = found.note or ("" if rows else "The keys are shown when the game has started")
    return rows, note


def play_problem(launch: LaunchState) -> Problem | None:
    """Why nobody can play now."""
    state = launch.state
    if state.connection is not Connection.ONLINE:
        return Problem("The daemon is not connected")
    if not state.env_id:
        return Problem("Choose an environment", "env_id")
    found = _keys(launch)
    if isinstance(found, NotPlayable):
        return Problem(found.reason, "env_id")
    if state.mode is Mode.HYBRID:
        policy = launch.play_policy
        if policy is None:
            return Problem("Choose a policy that plays with you", "policy")
        if policy.env_id and policy.env_id != state.env_id:
            return Problem(f"This policy was trained in {policy.env_id}", "policy")
    return None


def _keys(launch: LaunchState) -> KeyMap | NotPlayable:
    state = launch.state
    return keys_for(state.env_id, state.environment(state.env_id))
