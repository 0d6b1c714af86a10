"""For all tests: an activated environment, a folder for temporary files that goes with them, one
thread for numpy, signals that programs under test can receive, no haste."""

import atexit
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings

# How long an example takes is a matter of what else the machine does.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")
# People activate the environment before they type `python`; some machines have none otherwise.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
# Daemons keep the folder of their sockets, one for each home. pytest's own stays where it is.
os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
os.environ["TMPDIR"] = tempfile.tempdir = tempfile.mkdtemp(prefix="mosaic-tests-")
os.chmod(tempfile.tempdir, 0o1777)  # open to other users, as the one it stands for
atexit.register(shutil.rmtree, tempfile.tempdir, ignore_errors=True)
# Threads cost small networks more than they gain.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# A shell starts background jobs with the interrupt ignored, and every child would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
# So does `nohup` with the one that says the terminal is gone.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
