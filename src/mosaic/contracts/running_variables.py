"""Environment variables that make an interpreter, a loader or a library run something. Pure.

Whoever chooses one of these for a process chooses code that the process runs, or where it sends
what is ours. They are not refused, as a person may want them; nobody else may set them unasked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

# Of those that the patterns below would name: what can only make a run slower or louder.
_HARMLESS = frozenset(
    {
        *("PYTHONHASHSEED", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONFAULTHANDLER"),
        *("PYTHONOPTIMIZE", "PYTHONDEVMODE", "PYTHONNOUSERSITE", "PYTHONSAFEPATH", "PYTHONUTF8"),
        *("PYTHONIOENCODING", "PYTHONTRACEMALLOC", "PYTHONMALLOC", "PYTHONASYNCIODEBUG"),
        *("QT_QPA_PLATFORM", "QT_SCALE_FACTOR", "MESA_GL_VERSION_OVERRIDE"),
    }
)
_PATTERNS = (
    # Interpreters: what they import, warn with, start with or are told.
    r"PYTHON\w*|IPYTHON\w*|JUPYTER\w*|PERL\w*|RUBY\w*|GEM_\w+|NODE_\w+|NPM_\w+|LUA_\w+|PHP\w*",
    r"R_(HOME|LIBS|PROFILE|ENVIRON)\w*|JULIA_\w+|CLASSPATH|_?JAVA_\w+|JDK_\w+",
    # The loader of programs, and what the C library reads code or tables from.
    r"LD_\w+|DYLD_\w+|\w*_PRELOAD|GCONV_\w+|GLIBC_\w+|MALLOC_\w+|LOCPATH|NLSPATH|HOSTALIASES",
    r"TERMINFO\w*|TERMCAP",
    # Where programs, libraries and modules of any kind are looked for.
    r"\w*PATHS?|\w+_DIRS|HOME|TMPDIR|TMP|TEMP|XDG_\w+|\w*PLUGIN\w*|\w+_MODULES?|\w*STARTUP\w*",
    # Shells, and programs that others start.
    r"SHELL|SHELLOPTS|BASHOPTS|BASH_\w+|ENV|ZDOTDIR|PS4|PROMPT_COMMAND|IFS|CDPATH",
    r"BROWSER|EDITOR|VISUAL|\w*PAGER|TERMINAL|LESSOPEN|LESSCLOSE|\w+_ASKPASS|GIT_\w+|HG\w+|SVN_\w+",
    r"\w+_(EXECUTABLE|COMMAND|PYTHON|HOOKS?|WRAPPER|EXE)|WANDB__\w+",
    # Compilers and what they are told; folders with compiled code that is loaded again.
    r"CC|CXX|CPP|LD|AR|NVCC\w*|HIPCC\w*|\w*FLAGS|CMAKE_\w+|COMPILER_\w+|TRITON_\w+|NUMBA_\w+",
    r"TORCH_(HOME|EXTENSIONS_DIR|LIBRARY\w*)|TORCHINDUCTOR_\w+|TORCH_COMPILE\w*|HF_HOME|KERAS_\w+",
    # Drivers and tool libraries that are loaded into the process.
    r"OPENSSL_\w+|OMP_TOOL\w*|OMPT_\w+|KMP_\w*LIB\w*|CUDA_(INJECTION|CACHE)\w*|NVTX_INJECTION\w*",
    r"LIBGL\w*|MESA_\w+|GALLIUM_\w+|VK_\w+|OCL_\w+|__?EGL_\w+|__GL\w+|GBM_\w+|SDL_DYNAMIC_API",
    r"QT_\w+|QML\w+|GTK\w*|GDK_\w+|GIO_\w+|GST_\w+|LADSPA_\w+|ALSA_\w+|PJRT_\w+",
    # Matplotlib imports what its backend or its configuration names.
    r"MPL\w+|MATPLOTLIB\w+",
    # Installers, and where what is ours is sent.
    r"PIP_\w+|UV_\w+|POETRY_\w+|CONDA_EXE|\w+_(BASE_)?URL|WANDB_(CONFIG_DIR|HOST)|\w+_PROXY",
    r"SSL_CERT_\w+|SSLKEYLOGFILE|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|CURL_HOME|NETRC",
)
_RUNNING = re.compile("|".join(_PATTERNS), re.IGNORECASE | re.ASCII)


def runs_something(name: str) -> bool:
    return name.upper() not in _HARMLESS and _RUNNING.fullmatch(name) is not None


def running_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Those of a run's variables that a person has to see, by name."""
    return {name: environment[name] for name in sorted(environment) if runs_something(name)}
