"""A small table that every benchmark prints: what, figure, ratio against the baseline."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Report:
    title: str
    rows: list[tuple[str, str, str]] = field(default_factory=list)

    def add(self, what: str, figure: str, ratio: str) -> None:
        self.rows.append((what, figure, ratio))

    def print(self) -> None:
        print(f"\n## {self.title}\n")
        print("| what | measured | against |")
        print("|---|---|---|")
        for row in self.rows:
            print("| " + " | ".join(row) + " |", flush=True)
