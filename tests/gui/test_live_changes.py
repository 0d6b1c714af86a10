"""What is painted anew when a part of a picture changes is what all of it painted anew would be."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRect, QRectF, Qt
from PySide6.QtGui import QImage, QPaintEvent, QPalette, QRegion
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mosaic.fastlane.tiling import Picture
from mosaic.gui.live.picture_pane import PicturePane
from mosaic.gui.live.tile_canvas import TileCanvas
from mosaic.gui.state.live_watch import Tile
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.pictures import fitted, to_image
from mosaic.gui.widgets.scaling import is_smoothed
from tests.gui.conftest import WAIT_MS

# A patch is cut where it is off by less than a sixtieth of a pixel: of a black line on white,
# shades that nobody sees.
MOST_SHADES = 6
ONE = QPoint(1, 0)
PICTURES = [(600, 400), (160, 210), (480, 480)]
ROOMS = [(560, 395), (433, 300), (800, 640), (333, 1000)]


class Watched(TileCanvas):
    def __init__(self) -> None:
        super().__init__()
        self.painted = QRegion()
        # Only one window has the focus, and its ring.
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    def paintEvent(self, event: QPaintEvent) -> None:
        self.painted = event.region()
        super().paintEvent(event)


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    made = Theme(qapp, "dark")
    yield made
    made.choose("dark")


def shown(qtbot: QtBot, size: tuple[int, int]) -> Watched:
    canvas = Watched()
    qtbot.addWidget(canvas)
    canvas.resize(*size)
    canvas.show()
    qtbot.waitExposed(canvas)
    return canvas


def scene(size: tuple[int, int], at: int) -> Picture:
    """A cart with its pole on a thin line, `at` so many pixels from the left."""
    width, height = size
    pixels = np.full((height, width, 3), 255, np.uint8)
    pixels[height * 3 // 4] = 0
    pixels[:, width // 3] = (200, 30, 30)
    pixels[height // 2 : height * 3 // 4, at : at + 30] = 0
    pixels[height // 3 : height // 2, at + 12 : at + 17] = (202, 152, 101)
    return Picture(width, height, pixels.tobytes())


def show(qtbot: QtBot, canvas: TileCanvas, *pictures: Picture) -> None:
    """And wait until that is painted."""
    wanted = canvas.painted_pictures + len(pictures)
    canvas.show_tiles([Tile(slot, picture, None) for slot, picture in enumerate(pictures)])
    qtbot.waitUntil(lambda: canvas.painted_pictures >= wanted, timeout=WAIT_MS)


def screen_of(canvas: TileCanvas) -> np.ndarray:
    """What has been painted so far. Of a window whose pixels are several of the screen the platform
    hands out a corner: that one is painted again, with what is scaled already."""
    if canvas.devicePixelRatioF() != 1.0:
        return array_of(canvas.grab().toImage())
    return array_of(canvas.screen().grabWindow(canvas.winId()).toImage())


def array_of(image: QImage) -> np.ndarray:
    image = image.convertToFormat(QImage.Format.Format_RGB32)
    found = np.frombuffer(image.constBits(), np.uint8)
    return found.reshape(image.height(), image.width(), 4)[..., :3].astype(int)


def fresh(qtbot: QtBot, size: tuple[int, int], *pictures: Picture) -> np.ndarray:
    canvas = shown(qtbot, size)
    show(qtbot, canvas, *pictures)
    return screen_of(canvas)


@pytest.mark.parametrize("room", ROOMS)
@pytest.mark.parametrize("size", PICTURES)
def test_the_screen_is_as_after_painting_all_of_it(
    qtbot: QtBot, size: tuple[int, int], room: tuple[int, int]
) -> None:
    canvas = shown(qtbot, room)
    places = [*range(10, size[0] - 40, 17), size[0] - 30, 0]
    for at in places:
        show(qtbot, canvas, scene(size, at))
    wanted = fresh(qtbot, room, scene(size, places[-1]))
    assert abs(screen_of(canvas) - wanted).max() <= MOST_SHADES


@pytest.mark.parametrize("room", [(322, 422), (350, 473), (500, 640), (403, 700), (642, 842)])
def test_pixels_of_games_are_exact(qtbot: QtBot, room: tuple[int, int]) -> None:
    canvas, chance = shown(qtbot, room), np.random.default_rng(1)
    pixels = chance.integers(0, 256, (210, 160, 3), np.uint8)
    for _ in range(12):
        left, top = chance.integers(0, 150), chance.integers(0, 200)
        pixels[top : top + 10, left : left + 10] ^= 255
        picture = Picture(160, 210, pixels.tobytes())
        show(qtbot, canvas, picture)
    assert (screen_of(canvas) == fresh(qtbot, room, picture)).all()


@pytest.mark.parametrize("size", PICTURES)
def test_a_picture_looks_as_it_does_when_it_is_scaled_as_a_whole(
    qtbot: QtBot, size: tuple[int, int]
) -> None:
    canvas = shown(qtbot, (560, 395))
    for at in (90, 60, 30):
        show(qtbot, canvas, scene(size, at))
    box = canvas.box(0)
    image = to_image(scene(size, 30)).convertToFormat(QImage.Format.Format_RGB32)
    ratio = canvas.devicePixelRatioF()
    place = fitted(image.width(), image.height(), QRectF(box))
    across, down = round(place.width() * ratio), round(place.height() * ratio)
    mode = Qt.TransformationMode
    how = mode.FastTransformation
    if is_smoothed(size, across / size[0]):
        how = mode.SmoothTransformation
    ignore = Qt.AspectRatioMode.IgnoreAspectRatio
    wanted = array_of(image.scaled(across, down, ignore, how))
    left, top = round(place.left() * ratio), round(place.top() * ratio)
    height, width, _ = wanted.shape
    found = screen_of(canvas)[top : top + height, left : left + width]
    assert abs(found - wanted).max() <= MOST_SHADES


def test_only_what_changed_is_painted(qtbot: QtBot) -> None:
    canvas = shown(qtbot, (560, 395))
    show(qtbot, canvas, scene((600, 400), 300))
    show(qtbot, canvas, scene((600, 400), 304))
    painted, box = canvas.painted.boundingRect(), canvas.box(0)
    assert box.contains(painted)
    assert painted.width() * painted.height() < box.width() * box.height() / 10


def test_the_same_picture_again_is_on_the_screen_without_being_painted(qtbot: QtBot) -> None:
    canvas = shown(qtbot, (560, 395))
    show(qtbot, canvas, scene((600, 400), 300))
    canvas.painted = QRegion()
    before = canvas.painted_pictures
    canvas.show_tiles([Tile(0, scene((600, 400), 300), None)])
    assert canvas.painted_pictures == before + 1
    QApplication.processEvents()
    assert canvas.painted.isEmpty()


def test_pictures_that_come_before_one_is_painted_are_all_in_it(qtbot: QtBot) -> None:
    canvas = shown(qtbot, (560, 395))
    show(qtbot, canvas, scene((600, 400), 500))
    for at in (470, 440, 410):
        canvas.show_tiles([Tile(0, scene((600, 400), at), None)])
    show(qtbot, canvas, scene((600, 400), 380))
    wanted = fresh(qtbot, (560, 395), scene((600, 400), 380))
    assert abs(screen_of(canvas) - wanted).max() <= MOST_SHADES


def test_tiles_beside_each_other_keep_their_frames_and_numbers(qtbot: QtBot) -> None:
    canvas = shown(qtbot, (560, 395))
    for step in range(4):
        show(qtbot, canvas, *(scene((600, 400), 40 * slot + 9 * step) for slot in range(4)))
    wanted = fresh(qtbot, (560, 395), *(scene((600, 400), 40 * slot + 27) for slot in range(4)))
    assert abs(screen_of(canvas) - wanted).max() <= MOST_SHADES


@pytest.mark.parametrize("change", ["size", "theme", "veil", "focus", "picture", "enlarged"])
def test_whatever_else_changes_paints_all_of_it(qtbot: QtBot, theme: Theme, change: str) -> None:
    canvas = shown(qtbot, (560, 395))
    count = 2 if change == "enlarged" else 1
    for at in (200, 210):
        show(qtbot, canvas, *[scene((600, 400), at)] * count)
    other = shown(qtbot, (560, 395))
    last = scene((600, 400), 210)
    canvas.painted = QRegion()
    for each in (canvas, other):
        if change == "size":
            each.resize(433, 300)
        elif change == "theme":
            theme.choose("light")
        elif change == "veil":
            each.show_veil("paused")
        elif change == "focus":
            each.setFocus()
        elif change == "picture":
            last = scene((480, 480), 30)
        each.show_tiles([Tile(slot, last, None) for slot in range(count)])
        if change == "enlarged":
            each.enlarge(1)
    qtbot.waitUntil(
        lambda: (
            not canvas.painted.isEmpty()
            and canvas.painted.boundingRect().contains(QRect(0, 0, canvas.width(), canvas.height()))
        ),
        timeout=WAIT_MS,
    )
    if change != "focus":  # only one of them has it
        qtbot.waitUntil(
            lambda: abs(screen_of(canvas) - screen_of(other)).max() <= MOST_SHADES,
            timeout=WAIT_MS,
        )


@pytest.mark.parametrize("name", ["dark", "light"])
def test_the_room_around_is_as_the_page_around(qtbot: QtBot, theme: Theme, name: str) -> None:
    theme.choose(name)
    pane = PicturePane(theme)
    qtbot.addWidget(pane)
    pane.resize(560, 460)
    pane.show()
    qtbot.waitExposed(pane)
    show(qtbot, pane.canvas, scene((160, 210), 30))
    screen, corner = pane.grab().toImage(), pane.canvas.geometry().topLeft()
    ratio = screen.devicePixelRatio()
    inside, outside = (screen.pixelColor((corner + at) * ratio) for at in (ONE, -ONE))
    assert inside == outside == pane.palette().color(QPalette.ColorRole.Window)
