"""The pass figures of the chaos suite: each is printed when measured, and all again at the end."""

from __future__ import annotations

_recorded: list[tuple[str, str]] = []


def record(fault: str, sentence: str) -> None:
    """`record("1", "kill -9 of the worker — 100/100 recorded, slowest 0.4 s")`."""
    _recorded.append((fault, sentence))
    print(f"\nfault {fault}: {sentence}", flush=True)


def recorded() -> list[str]:
    """Every line so far, in the order of the fault matrix."""

    def place(item: tuple[str, str]) -> tuple[int, str]:
        digits = "".join(character for character in item[0] if character.isdigit())
        return int(digits or 0), item[0]

    return [f"fault {fault}: {sentence}" for fault, sentence in sorted(_recorded, key=place)]
