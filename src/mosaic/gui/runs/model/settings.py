"""KnownSettings: what runs were configured with, as far as the daemon has told it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from mosaic.contracts.catalogue import AlgorithmInfo
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_settings import Setting, setting_text

Settings = Mapping[str, Setting]


class KnownSettings:
    def __init__(self) -> None:
        self._settings: dict[str, Settings] = {}
        self._defaults: dict[tuple[str, str], Settings] = {}
        self._counts: Counter[str] = Counter()

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._settings

    def add(self, found: Mapping[str, Settings]) -> None:
        for run_id, settings in found.items():
            if run_id not in self._settings:
                self._counts.update(settings.keys())
            self._settings[run_id] = settings

    def forget(self, run_ids: Iterable[str]) -> None:
        for run_id in run_ids:
            self._counts.subtract(self._settings.pop(run_id, {}).keys())

    def set_defaults(self, algorithms: Iterable[AlgorithmInfo]) -> None:
        """What a parameter is where nobody chose it."""
        self._defaults = {
            (algorithm.worker, algorithm.name): {
                name: field["default"]
                for name, field in algorithm.parameters.items()
                if isinstance(field.get("default"), str | int | float | bool)
            }
            for algorithm in algorithms
        }

    @property
    def names(self) -> list[str]:
        """Those that most runs have come first, then the parameters of the algorithms."""
        given = [name for name, count in self._counts.most_common() if count > 0]
        others = {name for defaults in self._defaults.values() for name in defaults}
        return [*given, *sorted(others - set(given))]

    def given(self, run_id: str) -> Settings:
        return self._settings.get(run_id, {})

    def value(self, record: RunRecord, name: str) -> tuple[Setting, bool]:
        """And whether somebody chose it; None where the run has no such setting."""
        given = self.given(record.run_id)
        if name in given:
            return given[name], True
        algo = given.get("algo")
        defaults = self._defaults.get((record.worker, str(algo)), {}) if algo else {}
        return defaults.get(name), False

    def text(self, record: RunRecord, name: str) -> tuple[str, bool]:
        """Empty where there is none."""
        value, is_chosen = self.value(record, name)
        return ("" if value is None and not is_chosen else setting_text(value)), is_chosen

    def searched(self, run_id: str) -> str:
        """`learning_rate=0.001` a line, for the filter."""
        return "\n".join(
            f"{name}={setting_text(value)}" for name, value in self.given(run_id).items()
        )
