"""What of a config or a recording a person has to see before it runs, and how it is shown. Pure.

The workers of this installation, in their own interpreters, with environments they know, run
unasked. Programs of others, modules that a text names, variables that run something and arguments
that may name a file or a function do not: they are shown as lines, and a consent is the hash of
exactly these lines. Who consents to one thing has consented to nothing else.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic.contracts.hostile_text import is_run_id
from mosaic.contracts.secret_text import url_passwords
from mosaic.errors import ConsentError

if TYPE_CHECKING:  # workers import this module with their capabilities: it has to be light
    from mosaic.contracts.run_config import TrainRunConfig

# -- Environment variables that make an interpreter, a loader or a library run something
#
# Whoever chooses one of these for a process chooses code that the process runs, or where it sends
# what is ours. They are not refused, as a person may want them; nobody else may set them unasked.

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


# -- Consent

# In the metadata of a config: the run that it was read from.
CONFIG_OF = "config_of"
# The run that this one is to be like: it runs by the locks that are kept with that one.
REPRODUCES = "reproduces"
# Packages of which an import does nothing but register their environments.
ENVIRONMENT_PACKAGES = frozenset(
    {
        *("gymnasium", "ale_py", "minigrid", "miniworld", "gymnasium_robotics", "highway_env"),
        *("mo_gymnasium", "metaworld"),
    }
)
_LONGEST_LINE = 2000
_LONGEST_WORD = 64
_PLAIN_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_+-]*(\.[0-9]+)?")
_NAME_IN_MODULE = re.compile(r"[A-Za-z_][\w./-]*")
_VERSIONED_NAME = re.compile(r"\S+-v[0-9]+")
_ENVIRONMENT_KEY = re.compile(r"env|stage|curricul|task|game", re.IGNORECASE)
# Words in the name of an argument whose text may be a file, a function or another environment.
_FOREIGN_WORDS = frozenset(
    {
        *("file", "files", "filename", "path", "paths", "dir", "directory", "folder", "root"),
        *("xml", "mjcf", "urdf", "rom", "asset", "assets", "model", "scene", "texture"),
        *("module", "package", "import", "entry", "point", "function", "callable", "factory"),
        *("class", "cls", "wrapper", "wrappers", "plugin", "library", "lib", "so", "loader"),
        *("command", "cmd", "exec", "executable", "python", "program", "script", "shell"),
        *("env", "environment", "url", "uri", "host", "address", "pickle"),
    }
)


@dataclass(frozen=True)
class Consent:
    """Lines that a person is shown; the digest says that it was these."""

    lines: tuple[str, ...]

    @property
    def digest(self) -> str:
        return hashlib.sha256("\n".join(self.lines).encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        return {"lines": list(self.lines), "digest": self.digest}


def consent_from_lines(lines: Iterable[str]) -> Consent | None:
    """None where there is nothing to consent to."""
    found = tuple(map(str, lines))
    return Consent(found) if found else None


# Asking, and answering


def consent_error(needed: Consent, given: str | None, subject: str) -> ConsentError:
    """`subject`: what would run it, as the beginning of a sentence."""
    sentence = f"{subject} runs code that did not come with this installation"
    if given:
        sentence = f"{subject} does not run what was confirmed: it has changed since"
    return ConsentError(
        sentence,
        hint="look at what it would run, then confirm it: --yes, or consent= in Python",
        **needed.to_dict(),
    )


def requested_consent(error: ConsentError) -> Consent | None:
    """What an error asks to be confirmed; None where it asks for nothing of the kind."""
    lines = error.details.get("lines")
    return consent_from_lines(lines) if isinstance(lines, list | tuple) else None


def is_granted(needed: Consent | None, given: str | None, *, is_own: bool) -> bool:
    """`given` is the digest somebody confirmed, empty when nobody was asked yet. Where it is
    None, the caller wrote the config and needs no question, unless it is not theirs."""
    return needed is None or given == needed.digest or (given is None and is_own)


# Configs


def consent_for_config(
    config: TrainRunConfig,
    command: Sequence[str],
    *,
    is_as_installed: bool,
    program_fields: Iterable[str] = (),
    file_digest: Callable[[str], str] = lambda _: "",
    installs: Iterable[str] = (),
) -> Consent | None:
    """`command`: the whole of it; `is_as_installed`: whether it is a worker's own, as announced.

    `file_digest` gives the SHA-256 of a script, or nothing for anything but a script. `installs`:
    what is installed for it by a lock that is none of this installation's.
    """
    settings = config.worker.config
    fields = [(path, value) for path in program_fields if (value := field_at(settings, path))]
    lines = [] if is_as_installed else [_line("command", shlex.join(command))]
    lines += [_line(path.rpartition(".")[2], _as_words(value)) for path, value in fields]
    words = [] if is_as_installed else list(command)
    for _, value in fields:
        words += map(str, value) if isinstance(value, list) else [str(value)]
    for word in dict.fromkeys(words):
        if digest := file_digest(word):
            lines.append(_line("script", f"{word} (SHA-256 {digest})"))
    for name, text in running_variables(config.environment).items():
        lines.append(_line("variable", f"{name}={text}"))
    lines += _foreign_settings(settings, shown_already=[path for path, _ in fields])
    lines += [_line("installs", text) for text in installs]
    return consent_from_lines(lines)


def referenced_runs(config: Mapping[str, Any], runs_folder: Path) -> set[str]:
    """Ids of the runs that a config, or anything it does, comes from."""
    metadata = config.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    lineage = metadata.get("lineage")
    named = {str(metadata.get(CONFIG_OF, "")), str(metadata.get(REPRODUCES, ""))}
    if isinstance(lineage, dict):
        named.add(str(lineage.get("parent_run", "")))
    for _, text in _texts(config, ""):
        named |= _run_folders(text, runs_folder)
    return {name for name in named if is_run_id(name)}


def reproduced_run(config: Mapping[str, Any]) -> str:
    """Empty where it is to be like none."""
    metadata = config.get("metadata")
    named = str(metadata.get(REPRODUCES, "")) if isinstance(metadata, dict) else ""
    return named if is_run_id(named) else ""


def field_at(settings: Any, path: str) -> Any:
    """The value of a dotted path; None where there is none."""
    for name in path.split("."):
        settings = settings.get(name) if isinstance(settings, dict) else None
    return settings


# Recordings


def consent_for_recording(
    settings: Mapping[str, Any],
    python: str,
    folders: Iterable[str],
    options: Mapping[str, Any] | None = None,
) -> Consent | None:
    """For making an environment again as a run from elsewhere says.

    None: an environment of this installation, with plain arguments. Then neither the interpreter
    nor the folders it names are needed, see `with_package_only`. `options`: those of its reset.
    """
    found = _foreign_settings({**settings, "reset_kwargs": options or {}})
    entry_point = settings.get("entry_point", "")
    if entry_point and _package(entry_point) not in ENVIRONMENT_PACKAGES:
        found.insert(0, _line("calls", str(entry_point)))
    if not found:
        return None
    lines = [_line("interpreter", python)]
    lines += [_line("folder", folder) for folder in folders]
    lines.append(_line("environment", str(settings.get("env_id", ""))))
    return Consent((*lines, *found))


def with_package_only(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The same settings, with a package to import in place of a function to call."""
    if "entry_point" not in settings:
        return dict(settings)
    return {**settings, "entry_point": _package(settings["entry_point"])}


# What needs a look


def names_module(text: str, key: str = "") -> bool:
    """Whether a text may be `module:something`, so that using it imports the module."""
    if _ENVIRONMENT_KEY.search(key):
        return ":" in text  # whatever stands before the colon, an import of it can be tried
    return _is_module_and_name(text)


def _is_module_and_name(text: str) -> bool:
    """`package.module:name` or `module:Name-v0`; not cuda:0, 10:30, http://…, a tag, a sentence.

    Taken apart by hand: one expression for it would try every dot of a long text in turn.
    """
    module, colon, name = text.partition(":")
    if not colon or not module or any(map(str.isspace, module)):
        return False
    within_last_folder = max(1, module.rfind("/") + 1)
    is_dotted = "." in module[within_last_folder:-1]
    if is_dotted and _NAME_IN_MODULE.fullmatch(name):
        return True
    return "/" not in module and _VERSIONED_NAME.fullmatch(name) is not None


def is_plain(key: str, value: Any) -> bool:
    """Whether an argument of an environment is a number, a switch or a short word, and its name
    does not say that it is a file, a function or another environment."""
    if value is None or isinstance(value, bool | int | float):
        return True
    if isinstance(value, str):
        words = re.split(r"[^a-z]+", re.sub(r"([a-z])([A-Z])", r"\1_\2", key).lower())
        is_word = _PLAIN_WORD.fullmatch(value) is not None and len(value) <= _LONGEST_WORD
        opens_window = "render" in words and value == "human"
        return (not value or is_word) and _FOREIGN_WORDS.isdisjoint(words) and not opens_window
    if isinstance(value, list | tuple):
        return all(is_plain(key, item) for item in value)
    if isinstance(value, Mapping):
        return all(is_plain(f"{key}_{name}", item) for name, item in value.items())
    return False


def foreign_arguments(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Those arguments of an environment that are not plain."""
    return {name: value for name, value in kwargs.items() if not is_plain(str(name), value)}


def _foreign_settings(
    settings: Mapping[str, Any], shown_already: Sequence[str] = ("entry_point",)
) -> list[str]:
    lines = []
    for path, text in _texts(settings, ""):
        is_argument = any(piece.endswith("kwargs") for piece in path.split("."))
        if path not in shown_already and not is_argument and names_module(text, path):
            lines.append(_line("imports", f"{text.rpartition(':')[0]}, for {path} = {text!r}"))
    for path, kwargs in _arguments(settings, ""):
        for name, value in foreign_arguments(kwargs).items():
            lines.append(_line("argument", f"{path}.{name} = {json.dumps(value, default=str)}"))
    return lines


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Every text, and every key, with the dotted path of where it stands."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            where = f"{path}.{key}" if path else str(key)
            if ":" in str(key):
                yield path, str(key)
            yield from _texts(item, where)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item, path)


def _arguments(value: Any, path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every `kwargs` of an environment, however deep."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            where = f"{path}.{key}" if path else str(key)
            if str(key).endswith("kwargs"):
                yield where, item if isinstance(item, Mapping) else {"": item}
            else:
                yield from _arguments(item, where)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _arguments(item, path)


def _run_folders(text: str, runs_folder: Path) -> set[str]:
    if "/" not in text:
        return set()
    pieces, before = Path(text).parts, runs_folder.parts
    if pieces[: len(before)] == before:
        return set(pieces[len(before) : len(before) + 1])
    # By whatever way a path leads there, the name of the folder is that of the run.
    return {piece for piece in pieces if is_run_id(piece)}


def _package(entry_point: Any) -> str:
    package = str(entry_point).partition(":")[0].partition(".")[0]
    return package if package in ENVIRONMENT_PACKAGES else ""


# Lines


def as_one_line(text: str) -> str:
    """As one line without anything that could make it look like another.

    No two texts have the same line: a backslash is escaped too, as `\\n` would be read as either.
    """
    safe = "".join(
        character.encode("unicode_escape", "backslashreplace").decode()
        if character == "\\"
        or unicodedata.category(character)[0] == "C"
        or unicodedata.category(character) in ("Zl", "Zp")
        else character
        for character in text
    )
    if len(safe) <= _LONGEST_LINE:
        return safe
    digest = hashlib.sha256(safe.encode()).hexdigest()
    return f"{safe[:_LONGEST_LINE]}… ({len(safe):,} characters, SHA-256 {digest})"


def _line(name: str, text: str) -> str:
    return as_one_line(f"{name}: {text}")


def _as_words(value: Any) -> str:
    return shlex.join(map(str, value)) if isinstance(value, list) else str(value)
