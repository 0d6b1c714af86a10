"""The command line that does what somebody asked for otherwise. Pure.

The contrary of the parser of `mosaic`: tests hold the two together. No word is a secret.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mosaic.contracts.learner import Mode
from mosaic.contracts.options import OptionSchemas, of_mode
from mosaic.front.flags import split_flags

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mosaic.front.script_config import WatchedScript

PROGRAM = "mosaic"


def train_words(
    algo: str,
    env_id: str,
    *,
    total_timesteps: int | None = None,
    seed: int | None = None,
    seeds: str = "",
    parameters: Mapping[str, Any],
    extras: Mapping[str, Any] | None = None,
    schemas: OptionSchemas | None = None,
    use_gpu: bool = False,
    recipe: str = "",
    variables: Sequence[str] = (),
    **options: Any,
) -> list[str]:
    """`schemas`: of the worker's extras. `options`: those of any run, named as in Python."""
    flags, rest = split_flags(extras or {}, of_mode(schemas or {}, Mode.TRAIN))
    return [
        *("train", algo, *([env_id] if env_id else ())),
        *option_words({"--recipe": recipe}),
        *option_words({"--total-timesteps": total_timesteps, "--seed": seed, "--seeds": seeds}),
        *setting_words("--set", parameters, is_typed=True),
        *option_words({"--cuda": use_gpu, **flags, **_named(options)}),
        *(word for name in variables for word in ("--env", name)),
        *setting_words("--extra", rest, is_typed=False),
    ]


def evaluation_words(
    policy: str,
    *,
    extras: Mapping[str, Any],
    schemas: OptionSchemas,
    env_id: str | None = None,
    algo: str | None = None,
    use_gpu: bool = False,
    name: str | None = None,
) -> list[str]:
    flags, rest = split_flags(extras, of_mode(schemas, Mode.EVALUATE))
    options = {"--env-id": env_id, "--algo": algo, "--cuda": use_gpu, "--name": name}
    return [
        *("eval", policy),
        *option_words({**flags, **options}),
        *setting_words("--extra", rest, is_typed=False),
    ]


def resuming_words(
    policy: str,
    *,
    total_timesteps: int | None,
    parameters: Mapping[str, Any],
    extras: Mapping[str, Any],
    schemas: OptionSchemas,
    use_gpu: bool = False,
    name: str | None = None,
) -> list[str]:
    flags, rest = split_flags(extras, of_mode(schemas, Mode.RESUME))
    return [
        *("resume", policy),
        *option_words({"--total-timesteps": total_timesteps}),
        *setting_words("--set", parameters, is_typed=False),
        *option_words({**flags, "--cuda": use_gpu, "--name": name}),
        *setting_words("--extra", rest, is_typed=False),
    ]


def worker_words(worker: str, settings: Mapping[str, Any], **options: Any) -> list[str]:
    """`options`: those of any run, named as in Python."""
    return [
        *("run", worker),
        *setting_words("--set", settings, is_typed=True),
        *option_words(_named(options)),
    ]


def watch_words(script: WatchedScript, variables: Iterable[str]) -> list[str]:
    """`variables`: NAME=VALUE, or NAME alone where the shell shall give the value."""
    from mosaic.front.script_config import script_options

    flags, _ = split_flags(script.settings, script_options())
    options = {
        "--name": script.name,
        "--cpus": script.cpus,
        "--memory-mb": script.memory_mb,
        "--cuda": script.use_gpu,
        "--max-duration": script.max_duration_s,
    }
    given = (word for text in variables for word in ("--env", text))
    return ["watch", *option_words({**flags, **options}), *given, "--", *script.words]


def submission_words(config_path: str, variables: Iterable[str] = ()) -> list[str]:
    """`variables`: whose values are not stored, so that the shell has to give them."""
    return ["submit", config_path, *(word for name in variables for word in ("--env", name))]


# Words


def option_words(options: Mapping[str, Any]) -> list[str]:
    """`--cpus 2 --cuda` of {"--cpus": 2, "--cuda": True}; None and False are left out."""
    words: list[str] = []
    for option, value in options.items():
        if value is True:
            words.append(option)
        elif value is not None and value is not False and value != "":
            text = str(value)  # with a dash at its beginning it would be taken for an option
            words += [f"{option}={text}"] if text.startswith("-") else [option, text]
    return words


def setting_words(option: str, settings: Mapping[str, Any], *, is_typed: bool) -> list[str]:
    """`--set gamma=0.9`; what is not typed by a schema is read as JSON where it can be."""
    words: list[str] = []
    for name, value in settings.items():
        words += [option, f"{name}={_setting(value, is_typed)}"]
    return words


def _setting(value: Any, is_typed: bool) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    if is_typed:
        return value
    try:
        json.loads(value)
    except ValueError:
        return value
    return json.dumps(value)  # "2024" is a text here


def _named(options: Mapping[str, Any]) -> dict[str, Any]:
    return {f"--{name.replace('_', '-')}": value for name, value in options.items()}
