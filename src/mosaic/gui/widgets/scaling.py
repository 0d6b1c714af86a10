"""How a picture is scaled. Pure."""

from __future__ import annotations

# Pictures of games with large pixels are no larger than this; others are drawn with smooth lines.
_PIXEL_ART = 256
# From here on single pixels are seen: they stay crisp. Below, steps of uneven size would be.
_CRISP_FROM = 2.0


def is_smoothed(picture: tuple[int, int], scale: float) -> bool:
    """Whether a picture of this size looks better smoothed when it is drawn so much larger."""
    if scale == 1.0:
        return False
    is_crisp = scale >= _CRISP_FROM or scale == int(scale)
    return not (is_crisp and max(picture) <= _PIXEL_ART)
