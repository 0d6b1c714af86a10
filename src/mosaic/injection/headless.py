"""Drawing without a display: what SDL has to be told."""

from __future__ import annotations

from collections.abc import Mapping


def drawing_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """For SDL, which pygame starts when an environment is first drawn."""
    # Otherwise SDL takes SIGTERM for itself, and the script can no longer be asked to end.
    wanted = {"SDL_NO_SIGNAL_HANDLERS": "1"}
    if not variables.get("DISPLAY") and not variables.get("WAYLAND_DISPLAY"):
        wanted["SDL_VIDEODRIVER"] = "dummy"
        wanted["SDL_AUDIODRIVER"] = "dummy"  # it looks for a sound card, loudly
    return wanted
