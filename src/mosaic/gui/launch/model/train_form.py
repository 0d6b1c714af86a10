"""TrainForm: an algorithm, its parameters, and everything around a training."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from mosaic.contracts.catalogue import HYPERPARAMETERS, AlgorithmInfo, Recipe
from mosaic.contracts.learner import TrainRequest
from mosaic.front.command_line import train_words
from mosaic.front.training_config import Training, parse_seeds, train_document, usual_timesteps
from mosaic.gui.forms.model.fields import (
    Choice,
    Field,
    FieldKind,
    field_of,
    fields_of,
    sentence,
)
from mosaic.gui.launch.model.algorithm_source import (
    PATH,
    SOURCE,
    SOURCE_FIELDS,
    AlgorithmSource,
    SourcedAlgorithms,
)
from mosaic.gui.launch.model.field_lookup import field_values
from mosaic.gui.launch.model.launch_form import (
    Document,
    Footprint,
    LaunchForm,
)
from mosaic.gui.launch.model.recipe_field import FROM_RECIPE, RECIPE, recipe_fields
from mosaic.gui.launch.model.shared_fields import (
    RUN,
    TENSORBOARD_FOLDER,
    WANDB_KEY,
    gpu_field,
    id_fields,
    name_field,
    queue_fields,
    request_options,
    resource_fields,
    tracking_options,
)
from mosaic.gui.launch.model.starting_point import CHIP, WARM_START, chip_field
from mosaic.gui.state.compatibility import (
    extras_of,
    fitting_algorithms,
    flagged_extras_of,
    misfit,
)
from mosaic.gui.state.targets import Operation, PolicyTarget
from mosaic.gui.state.workbench_state import WorkbenchState

# Parameters that have a control of their own, or are decided by one.
_TAKEN = ("env_id", "total_timesteps", "seed", "cuda", "track", TENSORBOARD_FOLDER, "exp_name")


class TrainForm(LaunchForm):
    operation = Operation.TRAIN
    button = "Train"

    def __init__(self, state: WorkbenchState, worker: str) -> None:
        super().__init__(state, worker)
        # What was entered for other algorithms, until they are chosen again.
        self._put_away: dict[str, dict[str, Any]] = {}
        self._shown_algorithm = ""
        self._sourced = SourcedAlgorithms(self.form)
        # What it is filled with as soon as the place of its algorithms has been read.
        self._waiting: dict[str, Any] = {}
        # What is known about the checkpoint it begins with, and what its worker has against it.
        self.starting_point: PolicyTarget | None = None
        self.starting_point_problem = ""
        self.form.changed.connect(self._on_changed)
        self.refresh()

    # Algorithms

    @property
    def algorithms(self) -> list[AlgorithmInfo]:
        return self._sourced.algorithms or [
            item
            for item in self.state.algorithms
            if item.worker == self.worker and item.is_available
        ]

    @property
    def algorithm(self) -> AlgorithmInfo | None:
        name = self.form.value("algo") if "algo" in self.form else None
        return next((item for item in self.algorithms if item.name == name), None)

    def _on_changed(self, name: str) -> None:
        if name == RECIPE:
            # What it says is in the fields now, whatever stood there before.
            recipe = self.recipe
            for own in (*recipe.parameters, "total_timesteps") if recipe else ():
                self.form.reset(own)
        if name in ("algo", WARM_START, RECIPE, *SOURCE_FIELDS):
            self.refresh()

    # Algorithms of another place

    @property
    def unread_source(self) -> AlgorithmSource | None:
        """The place whose algorithms are wanted and not known yet."""
        return self._sourced.unread

    def show_source(
        self, source: AlgorithmSource, found: list[AlgorithmInfo], problem: str = ""
    ) -> None:
        """What was found there, or why nothing was."""
        self._sourced.show(source, found, problem)
        self.refresh()
        if source == self._sourced.source and self._waiting:
            waiting, self._waiting = self._waiting, {}
            self._fill(waiting)
        self.form.changed.emit(PATH)  # what is wrong with it has changed

    # Published parameters

    @property
    def recipe(self) -> Recipe | None:
        """The one that is chosen; None where none is, or there is none of that name."""
        algorithm = self.algorithm
        return self._recipe_of(algorithm) if algorithm is not None else None

    def _recipe_of(self, algorithm: AlgorithmInfo) -> Recipe | None:
        name = self.form.waiting_entry(RECIPE)
        known = algorithm.recipes_for(self.state.env_id)
        return next((recipe for recipe in known if recipe.name == name), None)

    def _with_recipe(self, fields: list[Field], recipe: Recipe | None) -> list[Field]:
        """What it says is what these fields are by default."""
        if recipe is None:
            self.form.take_out([RECIPE])
            return fields
        given = {**recipe.parameters, "total_timesteps": recipe.total_timesteps}
        return [
            replace(item, default=given[item.name], origin=FROM_RECIPE)
            if item.name in given
            else item
            for item in fields
        ]

    # The checkpoint it begins with

    @property
    def warm_start(self) -> str:
        """Its path; empty where the networks are random."""
        return str(self.form.entry(WARM_START)).strip() if WARM_START in self.form else ""

    def show_starting_point(self) -> None:
        """What is wrong with it has changed."""
        self.form.changed.emit(CHIP)

    def _chip(self) -> list[Field]:
        path = self.warm_start
        return [chip_field(path, self.starting_point, self.state.runs)] if path else []

    def refresh(self) -> None:
        found = self._algorithm_field()
        if found is None:
            self.form.set_fields([])
            return
        name = str(self.form.entry("algo")) if "algo" in self.form else ""
        # One that nobody chose gives way to one that fits the environment.
        is_chosen = "algo" in self.form and self.form.is_changed("algo")
        if not is_chosen or name not in {choice.value for choice in found.choices}:
            name = found.default
        algorithm = next(item for item in self.algorithms if item.name == name)
        self._switch_parameters(algorithm)
        self.form.set_fields(
            self._with_recipe(
                self._fields(replace(found, help=sentence(algorithm.summary)), algorithm),
                self._recipe_of(algorithm),
            )
        )

    def _algorithm_field(self) -> Field | None:
        available = self.algorithms
        if not available:
            return None
        environment = self.state.environment(self.state.env_id)
        able = fitting_algorithms(environment, available) if environment is not None else available
        default = (able or available)[0].name
        if self._sourced.source is not None and self._shown_algorithm in {
            one.name for one in available
        }:
            default = self._shown_algorithm  # the same one, of somebody else
        return Field(
            "algo",
            "Algorithm",
            FieldKind.CHOICE,
            default=default,
            choices=tuple(Choice(item.name, item.name, item.summary) for item in available),
            schema={"type": "string"},
            is_required=True,
        )

    def _switch_parameters(self, algorithm: AlgorithmInfo) -> None:
        if algorithm.name == self._shown_algorithm:
            return
        own = [item.name for item in self.form.fields if item.section == HYPERPARAMETERS]
        if self._shown_algorithm:
            self._put_away[self._shown_algorithm] = self.form.take_out(own)
        self.form.put_back(self._put_away.pop(algorithm.name, {}))
        self._shown_algorithm = algorithm.name

    def _fields(self, algo: Field, algorithm: AlgorithmInfo) -> list[Field]:
        parameters, health = algorithm.parameters, self.state.health
        extras = request_options(extras_of(self.worker_info), TrainRequest)
        own = {name: item for name, item in algorithm.options.items() if name not in _TAKEN}
        whose = {name: extras[name] for name in SOURCE_FIELDS if name in extras}
        fields = fields_of({**whose, **own, **extras, **tracking_options(parameters, extras)}, RUN)
        steps = {
            **parameters.get("total_timesteps", {"type": "integer", "minimum": 1}),
            "default": usual_timesteps(algorithm, self.state.env_id, self.state.environments),
        }
        seed = parameters.get("seed", {}).get("default")
        return [
            algo,
            *self._chip(),
            *recipe_fields(algorithm, self.state.env_id),
            replace(field_of("total_timesteps", steps), title="Timesteps", help="", section=""),
            Field(
                "seeds",
                "Seeds",
                FieldKind.SEEDS,
                default=None if seed is None else str(seed),
                help="1..5 or 1,4,9: one run each, side by side",
                placeholder="by chance",
            ),
            *(item for item in fields if item.section != RUN),
            name_field(),
            *(item for item in fields if item.section == RUN),
            *id_fields(),
            gpu_field(health),
            *resource_fields(health),
            *queue_fields(),
        ]

    # What it starts

    def rules(self, values: Mapping[str, Any]) -> Mapping[str, str]:
        found = dict(super().rules(values))
        if text := self._sourced.problem:
            found[PATH] = text
        algorithm = self.algorithm
        if algorithm is not None:
            environment = self.state.environment(self.state.env_id)
            if text := misfit(algorithm, environment, self.state.algorithms):
                found["algo"] = text
        if self.warm_start and self.starting_point_problem:
            found[CHIP] = self.starting_point_problem
        return found

    @property
    def seeds(self) -> list[int]:
        """None given: the algorithm's own."""
        text = self.form.value("seeds")
        return parse_seeds(text) if text else []

    @property
    def cpus(self) -> int:
        """Side by side on a CPU each, runs finish sooner than in turn on several CPUs each."""
        given = self.form.value("cpus")
        if given is not None:
            return int(given)
        if len(self.seeds) > 1 or self.algorithm is None:
            return 1
        health = self.state.health
        wanted = self.algorithm.cpus
        return min(wanted, health.cpus_total) if health is not None else wanted

    def footprint(self) -> Footprint:
        algorithm = self.algorithm
        memory = self.form.value("memory_mb") or (algorithm.memory_mb if algorithm else 0)
        gpus = int(bool(self.form.value("use_gpu")))
        return Footprint(max(1, len(self.seeds)), self.cpus, memory, gpus)

    def prepare(self) -> Callable[[], list[Document]]:
        seeds: list[int | None] = [*self.seeds] or [None]
        documents = [self._document(seed, is_one_of_several=len(seeds) > 1) for seed in seeds]
        return lambda: documents

    def _document(self, seed: int | None, is_one_of_several: bool) -> Document:
        algorithm = self.algorithm
        assert algorithm is not None  # `problem` said so before
        value = self.form.value
        key = self.form.values().get("wandb_api_key")
        return train_document(
            Training(
                algorithm,
                self.state.env_id,
                total_timesteps=value("total_timesteps"),
                seed=seed,
                is_one_of_several=is_one_of_several,
                parameters=self._parameters(algorithm),
                extras=self._extras(algorithm),
                name=value("run_name") or "",
                cpus=self.cpus,
                memory_mb=value("memory_mb"),
                use_gpu=value("use_gpu"),
                priority=value("priority") or None,
                retries=value("retries"),
                environment={WANDB_KEY: key} if key else {},
                agent_id=value("agent_id") or "",
                worker_id=value("worker_id") or "",
                recipe=self.recipe.name if self.recipe else "",
            )
        )

    def _parameters(self, algorithm: AlgorithmInfo) -> dict[str, Any]:
        changed = self.form.changed_values(has_secrets=False)
        found = {
            name: value
            for name, value in changed.items()
            if name in algorithm.parameters and name not in _TAKEN
        }
        if changed.get("tensorboard"):
            found[TENSORBOARD_FOLDER] = "tensorboard"
        return found

    def _extras(self, algorithm: AlgorithmInfo) -> dict[str, Any]:
        known = extras_of(self.worker_info)
        return {
            name: value
            for name, value in self.form.changed_values(has_secrets=False).items()
            if name in known and name not in _not_said(algorithm)
        }

    def command_words(self) -> list[str]:
        algorithm = self.algorithm
        if algorithm is None:
            return []
        changed = self.form.changed_values()
        is_one = len(self.seeds) == 1
        return train_words(
            algorithm.name,
            self.state.env_id,
            total_timesteps=changed.get("total_timesteps"),
            seed=self.seeds[0] if is_one else None,
            seeds="" if is_one else self.form.value("seeds") or "",
            parameters=self._parameters(algorithm),
            extras=self._extras(algorithm),
            schemas=flagged_extras_of(self.worker_info),
            use_gpu=self.form.value("use_gpu"),
            recipe=self.recipe.name if self.recipe else "",
            variables=[WANDB_KEY] if changed.get("wandb_api_key") else [],
            name=changed.get("run_name"),
            agent_id=changed.get("agent_id"),
            worker_id=changed.get("worker_id"),
            cpus=changed.get("cpus"),
            memory_mb=changed.get("memory_mb"),
            priority=changed.get("priority"),
            retries=changed.get("retries"),
            **{name: algorithm.extras.get(name) for name in SOURCE_FIELDS},
        )

    def preset_values(self) -> dict[str, Any]:
        algorithm = self.algorithm
        chosen = {"algo": algorithm.name} if algorithm else {}
        return {**super().preset_values(), **chosen}

    def load(self, values: Mapping[str, Any]) -> list[str]:
        rest = field_values(values)
        if "algo" in rest and SOURCE not in rest:
            for name in SOURCE_FIELDS:
                self.form.reset(name)  # it is one of the worker's own
        whose = {name: rest.pop(name) for name in SOURCE_FIELDS if name in rest}
        refused = self.form.load({SOURCE: whose.pop(SOURCE)}) if SOURCE in whose else []
        refused += self.form.load(whose)
        if self.unread_source is not None:
            self._waiting = rest
            return refused
        return [*refused, *self._fill(rest)]

    def _fill(self, rest: dict[str, Any]) -> list[str]:
        # First these two: the other fields, and what they are by default, depend on them.
        env_id, name = rest.pop("env_id", None), rest.pop("algo", None)
        if isinstance(env_id, str) and env_id:
            self.state.choose_environment(env_id)
            self.refresh()
        refused = []
        if name in {item.name for item in self.algorithms}:
            self.form.set("algo", str(name))
        elif name is not None:
            refused.append("algo")
        recipe = rest.pop(RECIPE, None)
        if RECIPE in self.form:
            refused += self.form.load({RECIPE: recipe or ""})
        elif recipe:
            refused.append(RECIPE)
        footprint = self.footprint()
        for key, usual in (("cpus", footprint.cpus), ("memory_mb", footprint.memory_mb)):
            if rest.get(key) == usual:
                del rest[key]  # nobody chose it: it is what every such run once got
        return [*refused, *self.form.load(rest)]


def _not_said(algorithm: AlgorithmInfo) -> set[str]:
    """Extras that are said otherwise: as parameters, as what makes it this algorithm, as a name."""
    return {*algorithm.parameters, *algorithm.extras, "agent_id"}
