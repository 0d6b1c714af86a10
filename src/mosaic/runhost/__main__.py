"""`python -I -S …/runhost/__main__.py`: isolated, so it finds its own package by itself."""

from __future__ import annotations

import os
import sys

# os.path, not pathlib: the worker waits for every import that happens before it is spawned.
_PACKAGE_ROOT = os.path.dirname(  # noqa: PTH120
    os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
)

if __name__ == "__main__":
    if _PACKAGE_ROOT not in sys.path:
        sys.path.append(_PACKAGE_ROOT)
    from mosaic.runhost.launch import main

    sys.exit(main())
