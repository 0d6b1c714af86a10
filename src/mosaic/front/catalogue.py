"""The algorithms, environments and learners of installed packages, by their entry points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from mosaic.errors import ConfigError
from mosaic.logs import get_logger

if TYPE_CHECKING:
    from mosaic.contracts.catalogue import AlgorithmInfo, EnvironmentInfo
    from mosaic.contracts.options import OptionSchemas

log = get_logger(__name__)


def algorithms() -> list[AlgorithmInfo]:
    from mosaic.contracts.catalogue import ALGORITHMS_GROUP

    return _collect(ALGORITHMS_GROUP)


def environments() -> list[EnvironmentInfo]:
    from mosaic.contracts.catalogue import ENVIRONMENTS_GROUP

    return _collect(ENVIRONMENTS_GROUP)


def source_algorithms(source: str, path: str | None, env_python: str | None) -> list[AlgorithmInfo]:
    """Those of a source that an installed package knows; raises for what it cannot find."""
    import importlib.metadata

    from mosaic.contracts.catalogue import ALGORITHM_SOURCES_GROUP

    known = {
        item.name: item for item in importlib.metadata.entry_points(group=ALGORITHM_SOURCES_GROUP)
    }
    if source not in known:
        raise ConfigError(
            f"There is no source {source[:80]!r} of algorithms",
            hint=f"known: {', '.join(sorted(known))}" if known else "no installed package has one",
            field="source",
        )
    found: list[AlgorithmInfo] = known[source].load()(path, env_python)
    return found


def find_algorithm(name: str, among: list[AlgorithmInfo] | None = None) -> AlgorithmInfo:
    """The algorithm of this name; raises with the nearest names, or with what is available."""
    found = {item.name: item for item in (algorithms() if among is None else among)}
    available = sorted(item.name for item in found.values() if item.is_available)
    hint = (
        f"available: {', '.join(available)}"
        if available
        else "no installed package offers algorithms; the README says what to install"
    )
    if name not in found:
        import difflib

        close = difflib.get_close_matches(name, found, n=3)
        guess = f"did you mean {' or '.join(close)}? " if close else ""
        raise ConfigError(f"There is no algorithm {name[:80]!r}", hint=guess + hint, field="algo")
    if not found[name].is_available:
        raise ConfigError(f"{name} is not available yet", hint=hint, field="algo")
    return found[name]


def learner_options() -> dict[str, OptionSchemas]:
    """What each installed learner takes beside an algorithm's parameters, by the worker's name."""
    from mosaic.contracts.capabilities import WORKERS_GROUP
    from mosaic.contracts.learner import extras_schemas

    def options(answer: Any) -> OptionSchemas:
        capabilities = answer if isinstance(answer, dict) else answer.to_dict()
        return extras_schemas(capabilities.get("config_schema", {}))

    found = dict(_answers(WORKERS_GROUP, options))
    return {name: found[name] for name in sorted(found) if found[name]}


def _collect(group: str) -> list[Any]:
    return [item for _, items in _answers(group, list) for item in items]


T = TypeVar("T")


def _answers(group: str, read: Callable[[Any], T]) -> Iterator[tuple[str, T]]:
    """The name of each entry point of the group, with what is read from its function's answer."""
    import importlib.metadata  # deferred: every command loads this module, few need it

    for entry in importlib.metadata.entry_points(group=group):
        try:
            found = read(entry.load()())
        except Exception as error:  # noqa: BLE001 (foreign code: anything may come out)
            log.warning("catalogue.unreadable", group=group, package=entry.name, error=str(error))
        else:
            yield entry.name, found
