"""StudyPictures: Optuna's own plots of a study, drawn elsewhere and shown here."""

from __future__ import annotations

import html
from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, QTimer
from PySide6.QtGui import (
    QColor,
    QImage,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QVBoxLayout, QWidget

from mosaic.analytics.optuna.drawing import HISTORY, IMPORTANCE, PARALLEL, POINTS
from mosaic.analytics.optuna.pictures import drawn, drawn_trials, why_not
from mosaic.analytics.optuna.study import Study, Trial
from mosaic.errors import MosaicError
from mosaic.gui.services.async_bridge import Task
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.notices import sentence_of
from mosaic.gui.state.runs_state import CURVES
from mosaic.gui.theme.theme import Theme
from mosaic.gui.trials.model import Place, nearest, places_of, trial_lines
from mosaic.gui.widgets.choosers import Segmented
from mosaic.gui.widgets.roles import label

_TITLES = ((HISTORY, "History"), (IMPORTANCE, "Importance"), (PARALLEL, "Parallel"))
_HELP = {
    HISTORY: "The value of every complete trial, and the best so far",
    IMPORTANCE: "How much of the value each parameter explains (PED-ANOVA)",
    PARALLEL: "Every trial as a line through its parameters, coloured by its value",
}
_LEAST = QSize(240, 200)
_SETTLE_MS = 300
_RING = 6.0


class StudyPictures(QWidget):
    """Drawn anew when there are more complete trials, another size, kind or theme; never twice at
    a time."""

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self._workbench = workbench
        self._study: Study | None = None
        self._drawing: Task | None = None
        self._shown: tuple[object, ...] = ()
        self._wanted: tuple[object, ...] = ()
        self.which = Segmented(_TITLES)
        for kind, about in _HELP.items():
            self.which.button(kind).setToolTip(about)
        self.which.chosen.connect(lambda _: self._refresh())
        self.canvas = _Canvas(workbench.theme)
        self.remark = label("", "caption")
        self.remark.setWordWrap(True)
        self._settle = QTimer(self)
        self._settle.setSingleShot(True)
        self._settle.setInterval(_SETTLE_MS)
        self._settle.timeout.connect(self._refresh)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addWidget(self.which)
        layout.addWidget(self.canvas, 1)
        layout.addWidget(self.remark)
        workbench.theme.changed.connect(self._refresh)

    @property
    def image(self) -> QImage:
        return self.canvas.image

    @property
    def is_drawing(self) -> bool:
        return self._drawing is not None

    def show_study(self, study: Study | None) -> None:
        if study is None or self._study is None or study.name != self._study.name:
            self.canvas.show_image(QImage())
            self._shown = ()
        self._study = study
        self._refresh()

    def stop(self) -> None:
        self._settle.stop()
        if self._drawing is not None:
            self._drawing.cancel()
            self._drawing = None

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._study is not None and self.isVisible():
            self._settle.start()

    def _refresh(self) -> None:
        study = self._study
        if study is None or not self.isVisible():
            return
        kind = self.which.value
        reason = why_not(study, kind)
        if reason:
            self.canvas.show_image(QImage())
            self._shown = ()
            self.remark.setText(reason)
            return
        size = self.canvas.size().expandedTo(_LEAST)
        theme, scale = self._workbench.theme, self.devicePixelRatioF()
        count = len(drawn_trials(study))
        self._wanted = (study.name, kind, size.toTuple(), scale, theme.palette.name, count)
        if self._wanted == self._shown or self._drawing is not None:
            return
        palette, asked, trials = theme.palette, self._wanted, drawn_trials(study)
        colours = {
            **{key: getattr(palette, key) for key in ("text", "muted", "line", "accent")},
            "panel": palette.panel,
            "plot": palette.plot,
            "best": CURVES[2],
            "is_dark": "yes" if theme.is_dark else "",
        }
        if self.canvas.image.isNull():
            self.remark.setText("Drawing…")
        self._drawing = self._workbench.bridge.work(
            lambda: drawn(
                study, kind, size=(size.width(), size.height()), scale=scale, colours=colours
            ),
            lambda data: self._on_drawn(asked, data, trials),
            lambda error: self._on_failed(asked, error),
        )

    def _on_drawn(self, asked: tuple[object, ...], data: bytes, trials: list[Trial]) -> None:
        self._drawing, self._shown = None, asked
        self.canvas.show_image(QImage.fromData(data), trials)
        self.remark.setText(_HELP[self.which.value])
        self._refresh()  # something may have changed meanwhile

    def _on_failed(self, asked: tuple[object, ...], error: MosaicError) -> None:
        self._drawing, self._shown = None, asked
        self.canvas.show_image(QImage())
        self.remark.setText(sentence_of(error))
        if self._wanted != asked:
            self._refresh()


class _Canvas(QWidget):
    """A picture; where it says where trials are, the one below the pointer is marked and told."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.image = QImage()
        self._trials: list[Trial] = []
        self._places: list[Place] = []
        self._hovered: int | None = None
        self.setMouseTracking(True)
        self.setMinimumSize(_LEAST)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("Picture of the study")

    def show_image(self, image: QImage, trials: Sequence[Trial] = ()) -> None:
        self.image = image
        self._trials, self._hovered = list(trials), None
        self._places = places_of(image.text(POINTS))[: len(trials)]
        self.update()

    @property
    def hovered(self) -> Trial | None:
        return None if self._hovered is None else self._trials[self._hovered]

    def spot(self, number: int) -> QPointF:
        """Where one of the trials that are drawn is."""
        left, top = self._places[number]
        box = self._box
        return QPointF(box.left() + left * box.width(), box.top() + top * box.height())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        box, at = self._box, event.position()
        size = (box.width(), box.height())
        found = nearest(self._places, size, at.x() - box.left(), at.y() - box.top())
        if found != self._hovered:
            self._hovered = found
            self.update()
            lines = [] if self.hovered is None else trial_lines(self.hovered)
            # Names are from outside: they are no markup.
            text = "<br>".join(html.escape(line) for line in lines)
            QToolTip.showText(event.globalPosition().toPoint(), text and f"<qt>{text}</qt>", self)

    def leaveEvent(self, event: QEvent) -> None:
        self._hovered = None
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.image.isNull():
            return
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            painter.drawImage(self._box, self.image)
            if self._hovered is not None:
                painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                painter.setPen(QPen(QColor(self._theme.palette.text), 1.5))
                painter.drawEllipse(self.spot(self._hovered), _RING, _RING)

    @property
    def _box(self) -> QRectF:
        size = self.image.size().scaled(self.size(), Qt.AspectRatioMode.KeepAspectRatio)
        left, top = (self.width() - size.width()) / 2, (self.height() - size.height()) / 2
        return QRectF(left, top, size.width(), size.height())
