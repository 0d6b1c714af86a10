"""Imported by every Python process of a watched script, before the script itself."""

import os
import sys


def _run_the_scripts_own() -> None:
    """The `sitecustomize` that Python would have found without us; its errors are its own."""
    from importlib.machinery import PathFinder

    here = os.path.realpath(os.path.dirname(__file__))  # noqa: PTH120  # pathlib is slow to import
    others = [entry for entry in sys.path if os.path.realpath(entry or os.curdir) != here]
    spec = PathFinder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        return
    from importlib.util import module_from_spec

    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _inject() -> None:
    if not (os.environ.get("MOSAIC_BRIDGE") or os.environ.get("MOSAIC_FASTLANE_SEGMENT")):
        return
    try:
        from mosaic.injection.start import start

        start()
    except Exception as error:  # noqa: BLE001  # whatever it is, the script goes on
        if sys.stderr is not None:
            print(f"mosaic: this script is not watched: {error!r}", file=sys.stderr)


try:
    _run_the_scripts_own()
finally:
    _inject()
