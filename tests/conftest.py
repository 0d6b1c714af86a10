"""For all tests: an activated environment, a folder for temporary files that goes with them, one
thread for numpy, signals that programs under test can receive, no haste, nothing left behind."""

import atexit
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.leftovers import Snapshot, await_nothing_new, mark_this_process

# How long an example takes is a matter of what else the machine does.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")
# People activate the environment before they type `python`; some machines have none otherwise.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
# Daemons keep the folder of their sockets, one for each home. pytest's own stays where it is, and
# its processes take that of the one that started them.
if "PYTEST_XDIST_WORKER" not in os.environ:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
    os.environ["TMPDIR"] = tempfile.tempdir = tempfile.mkdtemp(prefix="mosaic-tests-")
    Path(tempfile.tempdir).chmod(0o1777)  # as /tmp: some tests are about other users
    atexit.register(shutil.rmtree, tempfile.tempdir, ignore_errors=True)
# Threads cost small networks more than they gain.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# A shell starts background jobs with the interrupt ignored, and every child would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
# So does `nohup` with the one that says the terminal is gone.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
mark_this_process()


@pytest.fixture(scope="module", autouse=True)
def nothing_left_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """Per file of tests, since some files share a daemon or a window until their last test.

    Descriptors count in unit tests only: elsewhere libraries that tests hold us against (Optuna,
    PyAV, W&B) keep files of theirs open for as long as they like.
    """
    before = Snapshot.take()
    yield
    is_unit = "unit" in request.path.parts
    if left := await_nothing_new(before, with_descriptors=is_unit):
        pytest.fail("The tests of this file left behind:\n  " + "\n  ".join(left))
