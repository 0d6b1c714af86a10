"""HeldAnswers: in place of a daemon, or of work in threads: answers come when a test says so."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from mosaic.gui.services.async_bridge import Task


class HeldAnswers:
    """Takes the place of a bridge's `ask` or `work`; a canceled question is not answered."""

    def __init__(self) -> None:
        self.asked: list[tuple[Task, Callable[[Any], None] | None]] = []

    def ask(
        self,
        request: object,
        done: Callable[[Any], None] | None = None,
        failed: object = None,
    ) -> Task:
        task = Task()
        task.begin(Future())
        self.asked.append((task, done))
        return task

    def answer_all(self, value: object) -> None:
        """To every question that waits."""
        for task in [task for task, _ in self.asked if not task.is_done]:
            self.answer(task, value)

    def answer(self, asked: Task, value: object) -> None:
        task, done = next(item for item in self.asked if item[0] is asked)
        if not task.is_canceled:
            if task.future is not None:
                task.future.set_result(None)
            if done is not None:
                done(value)
