"""Environment variables that make an interpreter, a loader or a library run something. Pure.

Whoever chooses one of these for a process chooses code that the process runs, or where it sends
what is ours. They are not refused, as a person may want them; nobody else may set them unasked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from mosaic.contracts.secret_text import url_passwords

# Of those that the patterns below would name: what can only make a run slower or louder.
_HARMLESS = frozenset(
    {
        *("PYTHONHASHSEED", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONFAULTHANDLER"),
        *("PYTHONOPTIMIZE", "PYTHONDEVMODE", "PYTHONNOUSERSITE", "PYTHONSAFEPATH", "PYTHONUTF8"),
        *("PYTHONIOENCODING", "PYTHONTRACEMALLOC", "PYTHONMALLOC", "PYTHONASYNCIODEBUG"),
        *("QT_QPA_PLATFORM", "QT_SCALE_FACTOR", "MESA_GL_VERSION_OVERRIDE"),
        *("SDL_VIDEODRIVER", "SDL_AUDIODRIVER", "CUBLAS_WORKSPACE_CONFIG"),
    }
)
# Nothing is run because of these, whatever they belong to, and a question would show them.
_CREDENTIALS = re.compile(r"\w+_(TOKEN|PASSWORD|PASSWD|SECRET|API_?KEY)", re.IGNORECASE | re.ASCII)
# Where something is sent to, at times with a password for it.
_ADDRESS = r"\w+_UR[IL]S?|\w+_PROXY"
_PATTERNS = (
    # Interpreters: what they import, warn with, start with or are told.
    r"_?PYTHON\w*|IPYTHON\w*|JUPYTER\w*|PERL\w*|RUBY\w*|GEM_\w+|NODE_\w+|NPM_\w+|LUA_\w+|PHP\w*",
    r"R_(HOME|LIBS|PROFILE|ENVIRON)\w*|JULIA_\w+|CLASSPATH|_?JAVA_\w+|JDK_\w+|TCL\w*|COV\w+",
    # The loader of programs, and what the C library reads code or tables from.
    r"LD_\w+|DYLD_\w+|\w*_PRELOAD|GCONV_\w+|GLIBC_\w+|MALLOC_\w+|LOCPATH|NLSPATH|HOSTALIASES",
    r"TERMINFO\w*|TERMCAP",
    # Where programs, libraries, modules and settings are looked for, and what is written.
    r"\w*PATHS?|\w*DIRS?|\w*DIRECTORY|\w*HOME|\w+_(ROOT|PREFIX)|\w*FILES?|\w*CONFIG|TMP|TEMP",
    r"XDG_\w+|\w*PLUGIN\w*|\w+_MODULES?|\w*STARTUP\w*|\w*LIB|\w*LIBS|\w*LIBRARY|\w*LIBRARIES",
    r"\w*BACKEND|\w+_DRIVERS?|\w*LOGDEST\w*",
    # Shells, and programs that others start.
    r"SHELL|SHELLOPTS|BASHOPTS|BASH_\w+|ENV|ZDOTDIR|PS4|PROMPT_COMMAND|IFS|CDPATH",
    r"BROWSER|EDITOR|VISUAL|\w*PAGER|TERMINAL|LESSOPEN|LESSCLOSE|\w+_ASKPASS|GIT_\w+|HG\w+|SVN_\w+",
    r"\w+_(EXECUTABLE|COMMAND|PYTHON|HOOKS?|WRAPPER|EXE|EXEC|BINARY|BIN|CMD|PROGRAM|LAUNCHER)",
    r"\w*_(OPTIONS|OPTS|ADDOPTS|ARGS)|WANDB__\w+|DBUS_\w+|GOOGLE_(APPLICATION|EXTERNAL)_\w+",
    # The launchers of MPI.
    r"OMPI_\w+|PMIX_\w+|PRTE_\w+|HYDRA_\w+|I_MPI_\w+",
    # Compilers and what they are told; folders with compiled code that is loaded again.
    r"CC|CXX|CPP|LD|AR|AS|FC|F77|F90|RANLIB|LD\w*SHARED|MAKE\w*|CCACHE_\w+|GCC_\w+",
    r"NVCC\w*|HIPCC\w*|\w*FLAGS|CMAKE_\w+|COMPILER_\w+|TRITON_\w+|NUMBA_\w+",
    r"TORCH_(LIBRARY|LOGS|TRACE)\w*|TORCHINDUCTOR_\w+|TORCH_COMPILE\w*|KERAS_\w+",
    # Drivers and tool libraries that are loaded into the process.
    r"OPENSSL_\w+|OMP_TOOL\w*|OMPT_\w+|KMP_\w*LIB\w*|CUDA_(INJECTION|CACHE)\w*|NVTX_INJECTION\w*",
    r"LIBGL\w*|MESA_\w+|GALLIUM_\w+|VK_\w+|OCL_\w+|__?EGL_\w+|__GL\w+|GBM_\w+|SDL\d?_\w+",
    r"QT_\w+|QML\w+|GTK\w*|GDK_\w+|GIO_\w+|GST_\w+|LADSPA_\w+|ALSA_\w+|PJRT_\w+",
    r"INTEL_\w+|FLEXIBLAS\w*",
    # Matplotlib imports what its backend or its configuration names.
    r"MPL\w+|MATPLOTLIB\w+",
    # Installers, and where what is ours is sent.
    r"PIP_\w+|UV_\w+|POETRY_\w+|CONDA_EXE|\w+_(HOST|SERVER|SERVICE|ENDPOINT|ADDR|ADDRESS)",
    r"SSL_CERT_\w+|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|NETRC",
    _ADDRESS,
)
_RUNNING = re.compile("|".join(_PATTERNS), re.IGNORECASE | re.ASCII)
_IS_ADDRESS = re.compile(_ADDRESS, re.IGNORECASE | re.ASCII)


def runs_something(name: str) -> bool:
    if name.upper() in _HARMLESS or _CREDENTIALS.fullmatch(name):
        return False
    return _RUNNING.fullmatch(name) is not None


def running_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Those of a run's variables that a person has to see, by name.

    Without the passwords of addresses: these are nobody's to see, and run nothing. Elsewhere what
    looks like a password may well be a command.
    """
    return {
        name: _without_passwords(text) if _IS_ADDRESS.fullmatch(name) else text
        for name, text in sorted(environment.items())
        if runs_something(name)
    }


def _without_passwords(text: str) -> str:
    for password in url_passwords(text):
        text = text.replace(password, "***")
    return text
