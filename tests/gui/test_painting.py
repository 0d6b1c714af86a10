"""An error while something is painted is shown as any other, and is no fault inside Qt later on.

Python keeps the error with all its variables: a painter among them that has not ended paints on,
as far as Qt is concerned, on a widget that is long gone.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

import mosaic.gui
from mosaic.fastlane.tiling import Picture
from mosaic.gui.live.tile_canvas import TileCanvas
from mosaic.gui.live.tile_picture import TilePicture
from mosaic.gui.state.live_watch import Tile
from mosaic.gui.widgets.pictures import to_image

WINDOW = Path(mosaic.gui.__file__).parent


def test_nothing_is_painted_any_more_once_painting_has_failed(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("a mistake")

    monkeypatch.setattr(TilePicture, "paint", fail)
    canvas = TileCanvas()
    qtbot.addWidget(canvas)
    canvas.resize(400, 300)
    canvas.show_tiles([Tile(0, Picture(30, 20, bytes(30 * 20 * 3)), None)])
    with qtbot.capture_exceptions() as errors:
        canvas.show()
        qtbot.waitUntil(lambda: bool(errors))
        assert not canvas.paintingActive()


def test_every_painter_ends_whatever_happens() -> None:
    assert [place for path in WINDOW.rglob("*.py") for place in endless_painters(path)] == []


def endless_painters(path: Path) -> list[str]:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    ended = {
        id(item.context_expr) for node in nodes if isinstance(node, ast.With) for item in node.items
    }
    return [
        f"{path.name}:{node.lineno}"
        for node in nodes
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("QPainter", "QStylePainter")
        and id(node) not in ended
    ]


def test_a_picture_with_too_few_bytes_is_refused() -> None:
    with pytest.raises(ValueError, match="600x400"):
        to_image(Picture(600, 400, bytes(600 * 399 * 3)))
