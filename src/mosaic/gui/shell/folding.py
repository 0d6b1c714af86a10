"""SidePanel and Folding: in a narrow window the form and the run's tabs share the left side."""

from __future__ import annotations

from enum import StrEnum

from psygnal import Signal
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QDockWidget, QMainWindow, QStackedLayout, QVBoxLayout, QWidget

from mosaic.gui.shell.model.dock_sizes import is_narrow
from mosaic.gui.state.workbench_state import WorkbenchState
from mosaic.gui.widgets.choosers import Segmented

_LEAST_WIDTH = 284  # less would cut the form off


class Side(StrEnum):
    """What the left side shows."""

    FORM = "form"
    RUN = "run"


class SidePanel(QWidget):
    """The form; where it is shared, the run's tabs are behind it, and a switch is above both."""

    def __init__(self, form: QWidget) -> None:
        super().__init__()
        self.switch = Segmented([(Side.FORM, "New run"), (Side.RUN, "Selected run")])
        self.switch.setObjectName("side-switch")
        self.switch.hide()
        self._panels = {Side.FORM: form}
        pages = QWidget()
        self._stack = QStackedLayout(pages)
        self._stack.addWidget(form)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addWidget(self.switch)
        layout.addWidget(pages, 1)

    def minimumSizeHint(self) -> QSize:
        """As the panel's own: a dock that is given a least width never again has a smaller one."""
        return super().minimumSizeHint().expandedTo(QSize(_LEAST_WIDTH, 0))

    @property
    def is_shared(self) -> bool:
        return Side.RUN in self._panels

    @property
    def shown(self) -> Side:
        return Side(self.switch.value)

    def share(self, panel: QWidget) -> None:
        self._panels[Side.RUN] = panel
        self._stack.addWidget(panel)
        self.switch.show()

    def give_back(self) -> None:
        """The other panel is about to get another place."""
        panel = self._panels.pop(Side.RUN)
        self._stack.removeWidget(panel)
        self.switch.hide()
        self.show_side(Side.FORM)

    def show_side(self, side: Side) -> None:
        self.switch.choose(side)
        if side in self._panels:
            self._stack.setCurrentWidget(self._panels[side])


class Folding:
    """Folds and unfolds the window as its size asks for."""

    changed = Signal()  # what is to be seen of the two panels

    def __init__(
        self,
        window: QMainWindow,
        side: SidePanel,
        left: QDockWidget,
        right: QDockWidget,
        run_panel: QWidget,
    ) -> None:
        self._window, self.side = window, side
        self._left, self._right, self._run_panel = left, right, run_panel
        self._was_right_shown = True
        self._has_selected = False
        side.switch.chosen.connect(lambda value: self._turn_to(Side(value)))
        for dock in (left, right):
            dock.toggleViewAction().toggled.connect(lambda *_: self.changed.emit())

    @property
    def is_narrow(self) -> bool:
        return self.side.is_shared

    def fit(self, size: QSize) -> None:
        """The window has this size now."""
        if is_narrow(size.width()) != self.is_narrow:
            if self.is_narrow:
                self.unfold()
            else:
                self._fold()

    def unfold(self) -> None:
        """Also before the arrangement of the docks is saved: a window opens unfolded."""
        if self.is_narrow:
            self.side.give_back()
            _layout_of(self._right).addWidget(self._run_panel)
            self._run_panel.show()
            self._right.setVisible(self._was_right_shown)
            self.changed.emit()

    def is_shown(self, side: Side) -> bool:
        if self.is_narrow:
            return not self._left.isHidden() and self.side.shown is side
        return not self._dock(side).isHidden()

    def toggle(self, side: Side) -> None:
        """Shows it, or hides it where it is to be seen."""
        if not self.is_narrow:
            self._dock(side).toggleViewAction().trigger()
        elif self.is_shown(side):
            self._left.hide()
        else:
            self.reveal(side)
        self.changed.emit()

    def reveal(self, side: Side) -> None:
        """In a narrow window; in a wide one nothing hides the other."""
        if self.is_narrow:
            self._left.show()
            self._turn_to(side)

    def follow(self, state: WorkbenchState) -> None:
        """Whoever asks for a form or a tab wants to see it; so does who selects another run."""
        state.selection_changed.connect(self._on_selection_changed)
        state.tab_asked.connect(self._on_run_asked)
        state.form_asked.connect(self._on_form_asked)
        state.mode_changed.connect(self._on_form_asked)

    def _on_selection_changed(self, selection: tuple[str, ...]) -> None:
        # The first one is selected by the window itself, when it opens.
        if self._has_selected and selection and not self._left.isHidden():
            self.reveal(Side.RUN)
        self._has_selected = self._has_selected or bool(selection)

    def _on_run_asked(self, tab_id: str) -> None:
        self.reveal(Side.RUN)

    def _on_form_asked(self, asked: object) -> None:
        self.reveal(Side.FORM)

    def _fold(self) -> None:
        self._was_right_shown = not self._right.isHidden()
        self._right.hide()
        self.side.share(self._run_panel)
        self.changed.emit()

    def _turn_to(self, side: Side) -> None:
        self.side.show_side(side)
        self.changed.emit()

    def _dock(self, side: Side) -> QDockWidget:
        return self._left if side is Side.FORM else self._right


def _layout_of(dock: QDockWidget) -> QVBoxLayout:
    layout = dock.widget().layout()
    assert isinstance(layout, QVBoxLayout)
    return layout
