"""Opens the window, says in JSON how its texts are drawn, and ends.

python -m tests.gui.font_program HOME
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from PySide6.QtGui import QFontInfo, QImage
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.gui.application import Application
from mosaic.paths import Home


def main() -> None:
    home = Home(Path(sys.argv[1]))
    qt = QApplication(sys.argv[:1])
    application = Application(
        qt, home, lambda: AsyncTrainerClient(home, autostart=False), theme_name="dark"
    )
    window = application.window
    window.show()
    qt.processEvents()
    texts: list[QLabel | QAbstractButton] = [
        *window.findChildren(QLabel),
        *window.findChildren(QAbstractButton),
    ]
    shown = [item for item in texts if item.isVisible() and item.text()]
    print(
        json.dumps(
            {
                "families": sorted({QFontInfo(item.font()).family() for item in shown}),
                "sizes": {_key(item): item.sizeHint().toTuple() for item in shown},
                "blank": [item.text() for item in shown if _is_blank(item)],
            }
        )
    )
    application.close()


def _key(item: QLabel | QAbstractButton) -> str:
    """The same words may stand there as a title and as a button."""
    return f"{item.metaObject().className()} {item.property('role')} {item.text()}"


def _is_blank(widget: QLabel | QAbstractButton) -> bool:
    """Whether nothing of its text can be seen: letters have edges of many shades."""
    image = widget.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    inner = image.copy(image.rect().adjusted(4, 4, -4, -4))
    return len({inner.pixel(x, y) for x in range(inner.width()) for y in range(inner.height())}) < 4


if __name__ == "__main__":
    main()
