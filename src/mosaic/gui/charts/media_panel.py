"""MediaPanel: histograms and pictures that a run logged, over its steps."""

from __future__ import annotations

import numpy as np
import pyqtgraph
from PySide6.QtCore import QBuffer, QByteArray, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QImage, QImageReader, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QSizePolicy,
    QSlider,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)

from mosaic.analytics.media import Histogram, MediaView, Picture, picture_bytes
from mosaic.errors import MosaicError
from mosaic.front.human import count
from mosaic.gui.charts.model.heat import Heat, heat_of, image_of
from mosaic.gui.charts.model.number_texts import value_text
from mosaic.gui.charts.plot_area import PlotArea
from mosaic.gui.services.async_bridge import Task
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import label, with_role

_LEAST_HEIGHT = 220
_MOST_PIXELS = 16_000_000


class HistogramView(QWidget):
    """Brighter where more of the values are; the pointer reads how many."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.heat: Heat | None = None
        self.area = _HeatArea(theme)
        self.area.moved = self._on_moved
        self.area.setAccessibleName("Histogram over the steps")
        self._image = pyqtgraph.ImageItem(axisOrder="col-major")
        self.area.getPlotItem().addItem(self._image, ignoreBounds=True)
        self.reading = label("", "caption")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addWidget(self.area, 1)
        layout.addWidget(self.reading)
        theme.changed.connect(self._draw)

    def show_histograms(self, histograms: tuple[Histogram, ...]) -> None:
        self.heat = heat_of(histograms)
        self._draw()
        self._on_moved(None)

    def _draw(self) -> None:
        heat = self.heat
        if heat is None:
            self._image.clear()
            return
        ground, full = QColor(self._theme.palette.plot), QColor(self._theme.palette.accent)
        colours = np.array([ground.getRgb(), full.getRgb()], dtype=np.ubyte)
        self._image.setImage(image_of(heat), levels=(0.0, 1.0))
        self._image.setColorMap(pyqtgraph.ColorMap([0.0, 1.0], colours))
        begin, end = heat.steps[0], heat.steps[-1]
        if end <= begin:
            begin, end = begin - 0.5, end + 0.5
        self._image.setRect(QRectF(begin, heat.low, end - begin, heat.high - heat.low))
        self.area.getPlotItem().setRange(
            xRange=(begin, end), yRange=(heat.low, heat.high), padding=0
        )

    def _on_moved(self, place: QPointF | None) -> None:
        heat = self.heat
        if heat is None:
            self.reading.setText("")
            return
        found = None if place is None else heat.at(place.x(), place.y())
        if found is None or place is None:
            text = f"{len(heat.steps)} histograms up to step {count(int(heat.last_step))}"
        else:
            step, share = found
            text = f"step {count(step)} · about {value_text(place.y())} · {share:.1%} of the values"
        self.reading.setText(text)


class _HeatArea(PlotArea):
    """A plot that only tells where the pointer is."""

    moved = staticmethod(lambda place: None)

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.wheel_needs_click = True

    def mousePressEvent(self, event: QMouseEvent) -> None:
        event.accept()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at = event.position()
        view = self.getPlotItem().getViewBox()
        scene = self.mapToScene(at.toPoint())
        self.moved(view.mapSceneToView(scene) if self.is_inside(at) else None)
        event.accept()


class PictureView(QWidget):
    """One picture of many steps, chosen with a slider."""

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self._workbench = workbench
        self._pictures: tuple[Picture, ...] = ()
        self._loading: Task | None = None
        self.canvas = _Canvas()
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setAccessibleName("Step of the picture")
        self.slider.setRange(0, 0)
        self.slider.valueChanged.connect(lambda _: self._load())
        self.reading = label("", "caption")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(self.canvas, 1)
        layout.addWidget(self.slider)
        layout.addWidget(self.reading)

    def show_pictures(self, pictures: tuple[Picture, ...]) -> None:
        """Stays at the newest one unless another one was chosen."""
        was_last = self.slider.value() >= self.slider.maximum()
        self._pictures = pictures
        self.slider.blockSignals(True)
        self.slider.setRange(0, max(0, len(pictures) - 1))
        if was_last:
            self.slider.setValue(len(pictures) - 1)
        self.slider.blockSignals(False)
        self.slider.setVisible(len(pictures) > 1)
        self._load()

    def _load(self) -> None:
        if self._loading is not None:
            self._loading.cancel()
        if not self._pictures:
            return
        place = min(self.slider.value(), len(self._pictures) - 1)
        picture = self._pictures[place]
        where = f"{place + 1} of {len(self._pictures)}"
        self.reading.setText(f"step {count(picture.step)} · {where}")
        self._loading = self._workbench.bridge.work(
            lambda: decoded(picture), self.canvas.show_image, self._on_failed
        )

    def _on_failed(self, error: MosaicError) -> None:
        self.canvas.show_image(QImage())
        self.reading.setText(f"{self.reading.text()} · {error.message}")


def decoded(picture: Picture) -> QImage:
    """Raises MosaicError for what is no picture, or one of absurd size. For a thread."""
    try:
        data = picture_bytes(picture)
    except (OSError, ValueError, MosaicError) as error:
        raise MosaicError("The file of this picture cannot be read") from error
    buffer = QBuffer()
    buffer.setData(QByteArray(data))
    reader = QImageReader(buffer)
    size = reader.size()
    if size.width() * size.height() > _MOST_PIXELS:
        raise MosaicError("This picture is too large to be shown")
    image = reader.read()
    if image.isNull():
        raise MosaicError("This is no picture that can be shown")
    return image


class _Canvas(QWidget):
    """A picture as large as has room; small ones keep their pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.image = QImage()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumHeight(140)

    def show_image(self, image: QImage) -> None:
        self.image = image
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(240, 180)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.image.isNull():
            return
        size = self.image.size().scaled(self.size(), Qt.AspectRatioMode.KeepAspectRatio)
        left, top = (self.width() - size.width()) // 2, (self.height() - size.height()) // 2
        with QPainter(self) as painter:
            is_enlarged = size.width() > 2 * self.image.width()
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, not is_enlarged)
            painter.drawImage(QRectF(left, top, size.width(), size.height()), self.image)


class MediaPanel(QWidget):
    """Hidden where a run logged neither histograms nor pictures."""

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        with_role(self, "card")
        self.setObjectName("media-panel")
        self._media = MediaView()
        self.choice = QComboBox()
        self.choice.setAccessibleName("Histogram or picture")
        self.choice.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.choice.activated.connect(lambda _: self._draw())
        self.histograms = HistogramView(workbench.theme)
        self.pictures = PictureView(workbench)
        views = QWidget()
        self._views = QStackedLayout(views)
        self._views.addWidget(self.histograms)
        self._views.addWidget(self.pictures)
        top = QHBoxLayout()
        top.addWidget(self.choice, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 8, 8, 8)
        layout.setSpacing(6)
        layout.addLayout(top)
        layout.addWidget(views, 1)
        self.setMinimumHeight(_LEAST_HEIGHT)
        self.hide()

    def show_media(self, media: MediaView) -> None:
        self._media = media
        self.setVisible(not media.is_empty)
        wanted = [(tag, "histogram") for tag in sorted(media.histograms)]
        wanted += [(tag, "picture") for tag in sorted(media.pictures)]
        known = [self.choice.itemData(row) for row in range(self.choice.count())]
        if [tuple(one) for one in known] != wanted:
            chosen = self.choice.currentData()
            self.choice.clear()
            for tag, kind in wanted:
                self.choice.addItem(f"{tag} ({kind})", (tag, kind))
            if chosen is not None and tuple(chosen) in wanted:
                self.choice.setCurrentIndex(wanted.index(tuple(chosen)))
        self._draw()

    def _draw(self) -> None:
        chosen = self.choice.currentData()
        if chosen is None:
            return
        tag, kind = chosen
        if kind == "histogram":
            self.histograms.show_histograms(self._media.histograms.get(tag, ()))
            self._views.setCurrentWidget(self.histograms)
        else:
            self.pictures.show_pictures(self._media.pictures.get(tag, ()))
            self._views.setCurrentWidget(self.pictures)
