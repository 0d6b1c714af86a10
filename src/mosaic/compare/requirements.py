"""What comparing needs beyond the core: said in one sentence when it is missing."""

from __future__ import annotations

import importlib.util

from mosaic.errors import DependencyError

PACKAGES = ("numpy", "scipy", "matplotlib")


def require_packages() -> None:
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise DependencyError(
            f"Comparing runs needs {', '.join(missing)}, which cannot be imported",
            hint='pip install "mosaic-rl[compare]"',
            missing=missing,
        )
