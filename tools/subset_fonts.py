"""Makes the window's font files from those that Inter and JetBrains Mono are published as.

    python tools/subset_fonts.py Inter-Regular.otf Inter-SemiBold.otf JetBrainsMono-Regular.ttf

It keeps what a window about runs can have to show, and gives the families names of their own: a
machine that has another version of them installed shall not mix the two. Needs fonttools.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

from mosaic.gui.theme.fonts import FOLDER, MONO, SANS

FAMILIES = {"Inter": SANS, "JetBrains Mono": MONO}
SCRIPTS = (
    (0x0020, 0x024F),  # Latin
    (0x0300, 0x036F),  # accents
    (0x0370, 0x03FF),  # Greek
    (0x0400, 0x04FF),  # Cyrillic
    (0x1E00, 0x1EFF),  # more Latin
    (0x2000, 0x206F),  # dashes, quotes, dots
    (0x2070, 0x209F),  # raised and lowered digits
    (0x20A0, 0x20BF),  # currencies
    (0x2100, 0x218F),  # letters as symbols, fractions
    (0x2190, 0x21FF),  # arrows
    (0x2200, 0x22FF),  # mathematics
    (0x2300, 0x23FF),  # keys
    (0x2500, 0x259F),  # boxes and bars
    (0x25A0, 0x25FF),  # geometry
    (0x2600, 0x27BF),  # stars and ticks
    (0xFFFD, 0xFFFD),  # in place of bytes that are no text
)
# Without those that draw "->" or "!=" as one sign: commands and logs are shown as they are.
FEATURES = ["ccmp", "kern", "locl", "mark", "mkmk"]
_FAMILY, _STYLE, _UNIQUE, _FULL, _POSTSCRIPT, _TYPOGRAPHIC_FAMILY = 1, 2, 3, 4, 6, 16
_LONG_STYLE = 17


def subset(source: Path) -> Path:
    font = TTFont(source)
    options = Options()
    options.layout_features = FEATURES
    options.hinting = source.suffix == ".otf"  # FreeType hints the other kind by itself
    options.name_IDs = [0, 1, 2, 3, 4, 5, 6, 9, 11, 13, 14, 16, 17]
    options.notdef_outline = True
    chosen = Subsetter(options)
    chosen.populate(unicodes=[code for low, high in SCRIPTS for code in range(low, high + 1)])
    chosen.subset(font)
    family, style = _rename(font)
    target = FOLDER / f"{family}-{style}{source.suffix}".replace(" ", "")
    font.save(target)
    return target


def _rename(font: TTFont) -> tuple[str, str]:
    names = font["name"]
    old = names.getDebugName(_TYPOGRAPHIC_FAMILY) or names.getDebugName(_FAMILY)
    family = FAMILIES[old]
    style = names.getDebugName(_LONG_STYLE) or names.getDebugName(_STYLE)
    short = family if style == "Regular" else f"{family} {style}"
    for record in list(names.names):
        text = {
            _FAMILY: short,
            _UNIQUE: f"{record.toUnicode()}; a subset",
            _FULL: f"{family} {style}",
            _POSTSCRIPT: f"{family}-{style}".replace(" ", ""),
            _TYPOGRAPHIC_FAMILY: family,
        }.get(record.nameID)
        if text is not None:
            names.setName(text, record.nameID, record.platformID, record.platEncID, record.langID)
    if "CFF " in font:
        cff = font["CFF "].cff
        cff.fontNames = [f"{family}-{style}".replace(" ", "")]
        cff.topDictIndex[0].FamilyName = family
        cff.topDictIndex[0].FullName = f"{family} {style}"
    return family, style


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    for file in parser.parse_args().files:
        made = subset(file)
        print(f"{made.name}: {made.stat().st_size // 1024} KB")
