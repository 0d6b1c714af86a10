"""MapPage: what the tables of the agents are worth over their map, now and earlier."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QSlider, QStackedLayout, QVBoxLayout, QWidget

from mosaic.contracts.agents import MapLine, ValuesLine
from mosaic.front.human import count
from mosaic.gui.agents.model.words import snapshot_words
from mosaic.gui.theme.theme import Theme
from mosaic.gui.value_map.view import ValueMapView
from mosaic.gui.widgets.messages import EmptyState
from mosaic.gui.widgets.roles import label


class MapPage(QWidget):
    target_chosen = Signal(str)  # the name of a cell's goal

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._map: MapLine | None = None
        self._snapshots: tuple[ValuesLine, ...] = ()
        self.map = ValueMapView(theme)
        self.map.cell_clicked.connect(self._on_cell)
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setAccessibleName("When")
        self.slider.setToolTip("What the tables were worth earlier")
        self.slider.valueChanged.connect(self._show_place)
        self.when = label(role="caption")
        self.nothing = EmptyState(
            theme, "map-outline", "No map yet", "It appears when the agents have written one."
        )
        content = QWidget()
        layout = QVBoxLayout(content)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(self.map, 1)
        time_row = QHBoxLayout()
        time_row.setSpacing(8)
        time_row.addWidget(self.slider, 1)
        time_row.addWidget(self.when)
        layout.addLayout(time_row)
        self._pages = QStackedLayout(self)
        self._pages.setContentsMargins(0, 0, 0, 0)
        self._pages.addWidget(self.nothing)
        self._pages.addWidget(content)
        self._content = content
        self.show_values(None, ())

    def forget(self) -> None:
        """Another run follows: its newest values are shown, wherever the slider was."""
        with QSignalBlocker(self.slider):
            self.slider.setRange(0, 0)
        self.show_values(None, ())

    def show_values(self, map: MapLine | None, snapshots: Sequence[ValuesLine]) -> None:
        """Whoever looks at the newest goes on doing so, others stay where they are."""
        is_at_end = self.slider.value() == self.slider.maximum()
        before = self._shown()
        self._map, self._snapshots = map, tuple(snapshots)
        self._pages.setCurrentWidget(self.nothing if map is None else self._content)
        self.map.show_map(map)
        last = max(0, len(snapshots) - 1)
        with QSignalBlocker(self.slider):
            self.slider.setRange(0, last)
            self.slider.setPageStep(max(1, last // 10))
            # Some may have been left out of the middle since.
            self.slider.setValue(last if is_at_end else self._place_of(before))
        self.slider.setVisible(last > 0)
        self._show_place()

    def show_click_help(self, text: str) -> None:
        self.map.show_click_help(text)

    def _shown(self) -> ValuesLine | None:
        place = self.slider.value()
        return self._snapshots[place] if place < len(self._snapshots) else None

    def _place_of(self, wanted: ValuesLine | None) -> int:
        step = 0 if wanted is None else wanted.step
        places = [place for place, one in enumerate(self._snapshots) if one.step <= step]
        return places[-1] if places else 0

    def _show_place(self) -> None:
        self.map.show_values(self._shown())
        words = snapshot_words(self._snapshots, self.slider.value())
        self.when.setText(words or "No values yet")
        self.slider.setAccessibleDescription(words)
        shown = self._shown()
        self.when.setToolTip("" if shown is None else f"step {count(shown.step)}")

    def _on_cell(self, index: int) -> None:
        if self._map is not None and self._map.targets[index]:
            self.target_chosen.emit(self._map.targets[index])
