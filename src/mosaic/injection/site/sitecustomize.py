"""Imported by every Python process of a watched script, before the script itself."""

import os
import sys

_OLDEST = (3, 9)  # that can import what follows; this file is read by older ones too


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
    if sys.version_info < _OLDEST:
        _tell(f"Python {sys.version_info[0]}.{sys.version_info[1]} is too old for it")
        return
    try:
        from mosaic.injection.start import start

        start()
    except Exception as error:  # noqa: BLE001  # whatever it is, the script goes on
        _tell(repr(error))


def _tell(why: str) -> None:
    """In the run, or on standard error where nobody listens."""
    text = f"this script is not watched, so no episodes, metrics or frames: {why}"
    try:
        import json

        pipe = os.open(os.environ["MOSAIC_BRIDGE"], os.O_WRONLY | os.O_NONBLOCK)
        try:
            os.write(pipe, json.dumps({"kind": "note", "text": text}).encode() + b"\n")
        finally:
            os.close(pipe)
    except Exception:  # noqa: BLE001
        if sys.stderr is not None:
            print(f"mosaic: {text}", file=sys.stderr)


try:
    _run_the_scripts_own()
finally:
    _inject()
