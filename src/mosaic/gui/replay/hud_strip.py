"""HudStrip: what the step brought, and whether it is what was recorded."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QWidget

from mosaic.gui.state.replay_words import Badge, Sameness
from mosaic.gui.theme.theme import Theme
from mosaic.gui.theme.tokens import DARK
from mosaic.gui.widgets.roles import eliding_label, label, with_role

_ICON = QSize(14, 14)
_ICONS = {
    Sameness.SAME: "check-circle-outline",
    Sameness.DIFFERENT: "alert-circle-outline",
    Sameness.UNKNOWN: "circle-outline",
}
# The strip is dark in both palettes, as pictures are.
_COLOURS = {
    Sameness.SAME: DARK.good,
    Sameness.DIFFERENT: DARK.bad,
    Sameness.UNKNOWN: DARK.muted,
}


class HudStrip(QWidget):
    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        with_role(self, "hud")
        self.setObjectName("replay-hud")
        self._theme = theme
        self.place, self.reward, self.total = label(), label(), label()
        self.action = eliding_label()
        self.badge_icon, self.badge = QLabel(), label()
        self.badge.setObjectName("replay-badge")
        self.place.setObjectName("replay-place")
        badge = QHBoxLayout()
        badge.setSpacing(6)
        badge.addStretch(1)
        badge.addWidget(self.badge_icon)
        badge.addWidget(self.badge)
        layout = QGridLayout(self)
        layout.setContentsMargins(12, 6, 12, 6)
        layout.setHorizontalSpacing(16)
        layout.setVerticalSpacing(2)
        layout.addWidget(self.place, 0, 0)
        layout.addWidget(self.reward, 0, 1)
        layout.addWidget(self.total, 1, 1)
        layout.addWidget(self.action, 1, 0)
        layout.addLayout(badge, 0, 2, 2, 1)
        # Numbers come and go; the columns stay where they are.
        layout.setColumnStretch(0, 3)
        layout.setColumnStretch(1, 3)
        layout.setColumnStretch(2, 2)

    def show_fields(self, fields: tuple[str, str, str, str]) -> None:
        place, action, reward, total = fields
        self.place.setText(place)
        self.action.setText(action)
        self.reward.setText(reward)
        self.total.setText(total)

    def show_badge(self, badge: Badge) -> None:
        self.badge.setText(badge.text)
        self.badge.setToolTip(badge.tip)
        colour = _COLOURS[badge.sameness]
        self.badge.setStyleSheet(f"color: {colour};")
        icon = self._theme.icon(_ICONS[badge.sameness], colour)
        self.badge_icon.setPixmap(icon.pixmap(_ICON))
