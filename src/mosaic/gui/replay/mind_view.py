"""MindView: what the agent wanted and believed at the step that is shown, and its map of values."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QLabel,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from mosaic.analytics.agents.values import ValuesRead
from mosaic.contracts.events import EpisodeSummary
from mosaic.gui.replay.model.mind import (
    NOT_REPORTED,
    Bar,
    EpisodeMind,
    MindText,
    actions_of,
    snapshot_at,
    snapshot_text,
)
from mosaic.gui.theme.theme import Theme
from mosaic.gui.value_map.view import ValueMapView
from mosaic.gui.widgets.roles import eliding_label, label

_ROW, _BAR = 20, 10
_GAP = 8
_MARK = 14
_WAY = 16  # steps of it, where somebody jumps
_MOST_NAME = 0.34  # of the width
_LEAST_MAP, _MAP_EXTRA, _MOST_MAP = 150, 60, 400


class ActionBars(QWidget):
    """A bar for each action: what it is worth in this state."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.bars: tuple[Bar, ...] = ()
        self.setObjectName("action-bars")
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)
        self.show_bars(())

    def show_bars(self, bars: Sequence[Bar]) -> None:
        self.bars = tuple(bars)
        self.setFixedHeight(_ROW * len(self.bars))
        self.setVisible(bool(self.bars))
        told = [f"{bar.name} {bar.text}{', chosen' * bar.is_chosen}" for bar in self.bars]
        self.setAccessibleName("Worth of each action: " + "; ".join(told))
        self.setToolTip("\n".join(told))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self.bars:
            return
        palette = self._theme.palette
        font = self._theme.mono_font(12)
        metrics = QFontMetrics(font)
        names = max(metrics.horizontalAdvance(bar.name) for bar in self.bars)
        name_width = min(names, round(self.width() * _MOST_NAME)) + _MARK
        number_width = max(metrics.horizontalAdvance(bar.text) for bar in self.bars)
        left = name_width + _GAP
        way = max(0.0, float(self.width() - left - number_width - _GAP))
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            for place, bar in enumerate(self.bars):
                top = place * _ROW
                font.setBold(bar.is_chosen)
                painter.setFont(font)
                painter.setPen(QColor(palette.text if bar.is_chosen else palette.muted))
                middle = Qt.AlignmentFlag.AlignVCenter
                if bar.is_chosen:
                    painter.drawText(QRectF(0, top, _MARK, _ROW), middle, "▸")
                name = metrics.elidedText(bar.name, Qt.TextElideMode.ElideRight, name_width - _MARK)
                painter.drawText(QRectF(_MARK, top, name_width - _MARK, _ROW), middle, name)
                painter.drawText(
                    QRectF(left + way, top, self.width() - left - way, _ROW),
                    middle | Qt.AlignmentFlag.AlignRight,
                    bar.text,
                )
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(QColor(palette.line))
                line = QRectF(left, top + (_ROW - _BAR) / 2, way, _BAR)
                painter.drawRoundedRect(line, 3, 3)
                painter.setBrush(QColor(palette.accent if bar.is_best else palette.muted))
                begin, end = line.left() + bar.begin * way, line.left() + bar.end * way
                if end - begin >= 1:
                    painter.drawRoundedRect(QRectF(begin, line.top(), end - begin, _BAR), 3, 3)


class _Pairs(QWidget):
    """Lines of two texts. Labels are used again: a replay shows sixty steps a second."""

    def __init__(self, role: str) -> None:
        super().__init__()
        self._role = role
        self._rows: list[tuple[QLabel, QLabel]] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(8)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnStretch(1, 1)

    def show_pairs(self, pairs: Sequence[tuple[str, str]]) -> None:
        while len(self._rows) < len(pairs):
            made = (label("", self._role), _paragraph(""))
            for column, part in enumerate(made):
                self._grid.addWidget(part, len(self._rows), column, Qt.AlignmentFlag.AlignTop)
            self._rows.append(made)
        for place, parts in enumerate(self._rows):
            texts = pairs[place] if place < len(pairs) else None
            for part, text in zip(parts, texts or ("", ""), strict=True):
                part.setText(text)
                part.setVisible(texts is not None)
        self.setVisible(bool(pairs))


class MindView(QScrollArea):
    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._mind: EpisodeMind | None = None
        self._episode: EpisodeSummary | None = None
        self._length = self._step = 0
        self._shown_step: int | None = None  # up to where the map has seen the agent walk
        self._read = ValuesRead()
        self.text = MindText()
        self.setObjectName("mind")
        self.setAccessibleName("What the agent wanted and believed")
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.map = ValueMapView(theme)
        self.map_words = _paragraph("caption")
        self.goal = eliding_label("", "strong")
        self.note = _paragraph("muted")
        self.bars = ActionBars(theme)
        self.more = label("", "caption")
        self._facts, self._changes = _Pairs("caption"), _Pairs("code")
        self._changes_title = label("Since the step before", "caption")
        inside = QWidget()
        layout = QVBoxLayout(inside)
        layout.setContentsMargins(0, 0, 6, 0)
        layout.setSpacing(8)
        # What is always as high comes first: nothing moves while it plays.
        parts: list[QWidget] = [self.goal, self.map, self.map_words, self.note, self.bars]
        parts += [self.more, self._facts, self._changes_title, self._changes]
        for part in parts:
            layout.addWidget(part)
        layout.addStretch(1)
        self.setWidget(inside)
        self._show()

    @property
    def has_something(self) -> bool:
        return self._mind is not None or self._read.map is not None

    def show_episode(
        self, mind: EpisodeMind | None, episode: EpisodeSummary | None, length: int
    ) -> None:
        """None: its steps tell nothing, or are not known yet."""
        self._mind, self._episode, self._length = mind, episode, length
        self._shown_step = None
        self._show()

    def show_values(self, read: ValuesRead) -> None:
        self._read, self._shown_step = read, None
        self.map.show_map(read.map)
        self._show()

    def show_step(self, step: int) -> None:
        if step != self._step:
            self._step = step
            if self.isVisible():  # it is told of sixty steps a second
                self._show()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._show()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_map()

    def facts(self) -> dict[str, str]:
        return dict(self.text.facts)

    def _show(self) -> None:
        found = None if self._mind is None else self._mind.at(self._step)
        q_values = () if found is None else found.mind.q_values
        actions = actions_of(self._read.map, q_values)
        if self._mind is not None:
            self.text = self._mind.text_at(self._step, self._length, actions)
        else:
            is_read = self._episode is not None and self._length > 0
            self.text = MindText(NOT_REPORTED if is_read else "")
        self._show_map()
        self.goal.setText(self.text.goal or "–")
        self.goal.setVisible(self._mind is not None)
        self.note.setText(self.text.note)
        self.note.setVisible(bool(self.text.note))
        self.bars.show_bars(self.text.bars)
        self.more.setText(self.text.more)
        self.more.setVisible(bool(self.text.more))
        self._facts.show_pairs(self.text.facts)
        self._changes.show_pairs(self.text.changes)
        self._changes_title.setVisible(bool(self.text.changes))

    def _show_map(self) -> None:
        read, episode = self._read, self._episode
        has_map = read.map is not None
        self.map.setVisible(has_map)
        self.map_words.setVisible(has_map)
        if read.map is None:
            return
        snapshot = None
        if episode is not None:
            snapshot = snapshot_at(read.snapshots, episode, self._length, self._step)
        self.map.show_values(snapshot)
        self._show_way()
        self.map_words.setText(snapshot_text(read.snapshots, snapshot))
        self._fit_map()

    def _show_way(self) -> None:
        """As it led to this step, also where somebody has jumped there."""
        if self._shown_step is None or self._step != self._shown_step + 1:
            self.map.show_state(None)
            self._shown_step = max(-1, self._step - _WAY)
        for step in range(self._shown_step + 1, self._step + 1):
            found = None if self._mind is None else self._mind.at(step)
            self.map.show_state(None if found is None else found.state)
        self._shown_step = self._step

    def _fit_map(self) -> None:
        if self._read.map is not None:
            share = self._read.map.rows / max(1, self._read.map.columns)
            height = round(self.viewport().width() * share) + _MAP_EXTRA
            self.map.setFixedHeight(min(max(height, _LEAST_MAP), _MOST_MAP))


def _paragraph(role: str) -> QLabel:
    found = label("", role)
    found.setWordWrap(True)
    found.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
    return found
