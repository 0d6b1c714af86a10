"""Icons, all of one family (Material Design Icons), in the colours of the palette."""

from __future__ import annotations

import qtawesome
from PySide6.QtGui import QIcon


def icon(name: str, colour: str, disabled: str = "") -> QIcon:
    """`name` as in Material Design Icons, for example "play-circle"."""
    found: QIcon = qtawesome.icon(
        f"mdi6.{name}", color=colour, **({"color_disabled": disabled} if disabled else {})
    )
    return found
