"""Which tabs there are, in their order. A new one is a line here."""

from __future__ import annotations

from mosaic.gui.tabs.run_tab import TabKind

TAB_KINDS: tuple[TabKind, ...] = ()
