"""EnvironmentPicker: family, environment, and a line about the chosen one."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

from mosaic.gui.launch.model.choices import (
    CUSTOM,
    FamilyChoice,
    about,
    family_choices,
    family_of,
    typed_id,
)
from mosaic.gui.state.compatibility import missing_packages
from mosaic.gui.state.workbench_state import WorkbenchState
from mosaic.gui.widgets.choosers import SearchCombo
from mosaic.gui.widgets.roles import eliding_label, label, set_property


class EnvironmentPicker(QWidget):
    def __init__(
        self, state: WorkbenchState, tells_packages: Callable[[], bool] = lambda: True
    ) -> None:
        """`tells_packages`: whether what is missing in this Python matters."""
        super().__init__()
        self._tells_packages = tells_packages
        self.setObjectName("environment-picker")
        self._state = state
        self._choices: list[FamilyChoice] = []
        self._family = CUSTOM
        self.families = SearchCombo()
        self.families.setObjectName("environment-family")
        self.families.setAccessibleName("Environment family")
        self.ids = SearchCombo(takes_any_text=True)
        self.ids.setObjectName("environment-id")
        self.ids.setAccessibleName("Environment")
        # One line: all of it is in the tooltip and in the tab about the game.
        self._about = eliding_label(role="caption")
        self._problem = label(role="error")
        self._problem.setObjectName("environment-problem")
        self._problem.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(label("Environment"))
        layout.addWidget(self.families)
        layout.addWidget(self.ids)
        self._problem.setWordWrap(True)
        layout.addWidget(self._problem)
        layout.addWidget(self._about)
        self.families.picked.connect(self._on_family_picked)
        self.ids.picked.connect(self._on_id_picked)
        state.catalogue_changed.connect(self._on_catalogue_changed)
        state.environment_changed.connect(self._on_environment_changed)
        self._on_catalogue_changed()

    def show_problem(self, text: str) -> None:
        """What is wrong with the id itself; missing packages are told here anyway."""
        environment = self._state.environment(self._state.env_id)
        shown = text or (missing_packages(environment) if self._tells_packages() else "")
        self._problem.setText(shown)
        self._problem.setVisible(bool(shown))
        set_property(self.ids, "invalid", bool(shown))

    @property
    def problem_text(self) -> str:
        return self._problem.text()

    def focusables(self) -> list[QWidget]:
        return [self.families, self.ids]

    def _on_catalogue_changed(self) -> None:
        self._choices = family_choices(self._state.environments)
        self.families.set_texts(choice.title for choice in self._choices)
        self._on_environment_changed(self._state.env_id)

    def _on_environment_changed(self, env_id: str) -> None:
        self._show_family(family_of(env_id, self._choices))
        self.ids.show_text(env_id)
        environment = self._state.environment(env_id)
        text = about(environment, env_id)
        self._about.setToolTip(f"{environment.summary}\n{text}" if environment else text)
        self._about.setText(text)
        self._about.setVisible(bool(text))
        self.show_problem("")

    def _show_family(self, name: str) -> None:
        self._family = name
        choice = next((item for item in self._choices if item.name == name), None)
        if choice is not None:
            self.families.show_text(choice.title)
            self.ids.set_texts(choice.ids)
        edit = self.ids.lineEdit()
        if edit is not None:
            edit.setPlaceholderText("package.module:Name-v0" if name == CUSTOM else "")

    def _on_family_picked(self, title: str) -> None:
        choice = next(item for item in self._choices if item.title == title)
        self._show_family(choice.name)
        if choice.name == CUSTOM:
            self._state.choose_environment("")  # nothing shall start in the one before
            self.ids.setFocus()
        else:
            self._state.choose_environment(choice.ids[0])

    def _on_id_picked(self, text: str) -> None:
        choice = next((item for item in self._choices if item.name == self._family), None)
        found = typed_id(text, choice.ids if choice else ())
        if not found:
            self.ids.show_text(self._state.env_id)
            return
        self._state.choose_environment(found)
        self.ids.show_text(found)
