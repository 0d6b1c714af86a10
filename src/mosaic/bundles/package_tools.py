"""How uv and pip are called: what they are told, and what of the user's settings they keep to.

Whoever set pip up for a mirror, a proxy or a folder of wheels means every install. uv reads none of
that, and pip reads more than is good here (`--user`, constraints), so both are given exactly the
settings about where packages come from, through the environment: an address may hold a password,
and command lines are there for everybody to read.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from mosaic.bundles.locks import LockedPackage

# For whoever wants one of them: `uv` or `pip`.
TOOL_VARIABLE = "MOSAIC_PACKAGE_TOOL"
_ASK_PIP_S = 60.0
# Of several that say the same, the last counts: what a command is told, then the environment.
_SECTIONS = ("global", "install", ":env:")
_PLACES_OF_UV = (
    *("UV_INDEX", "UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS"),
    "UV_NO_INDEX",
)
# What somebody set for uv itself, about the same matters.
_KEPT_OF_UV = {
    *("UV_CACHE_DIR", "UV_NO_CACHE", "UV_LINK_MODE", "UV_HTTP_TIMEOUT", "UV_HTTP_RETRIES"),
    *("UV_CONCURRENT_DOWNLOADS", "UV_CONCURRENT_INSTALLS", "UV_KEYRING_PROVIDER"),
    *("UV_INSECURE_HOST", "UV_NATIVE_TLS", "UV_SYSTEM_CERTS", *_PLACES_OF_UV),
}
_TRUE = ("1", "true", "yes", "on", "y", "t")
# What pip and uv use where nobody says anything else.
_PUBLIC_INDEX = "https://pypi.org/simple"
_DROPPED = ("PIP_", "PYTHON", "UV_", "VIRTUAL_ENV", "CONDA_", "RUST_LOG")


@dataclass(frozen=True)
class IndexSettings:
    """Where packages come from, as pip is set up."""

    index_url: str = ""
    extra_index_urls: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    trusted_hosts: tuple[str, ...] = ()
    no_index: bool = False
    cert: str = ""
    client_cert: str = ""
    proxy: str = ""
    timeout: str = ""
    retries: str = ""
    cache_dir: str = ""
    # Those of the bundles that are installed, in addition to what is set for pip.
    bundle_indexes: tuple[str, ...] = ()

    @property
    def places(self) -> tuple[str, ...]:
        """What people may read: without the passwords in it."""
        urls = () if self.no_index else (self.index_url, *self.extra_index_urls)
        return tuple(without_password(place) for place in (*urls, *self.find_links) if place)

    @property
    def bundle_places(self) -> tuple[str, ...]:
        return tuple(map(without_password, self.bundle_indexes))


def index_settings(environment: Mapping[str, str]) -> IndexSettings:
    """Those of the user, whether they are in files of pip or in variables."""
    listing = ""
    if _pip_folder() is not None:
        command = [sys.executable, "-m", "pip", "config", "list"]
        try:
            asked = subprocess.run(
                command, env=dict(environment), capture_output=True, text=True,
                timeout=_ASK_PIP_S, check=False,
            )  # fmt: skip
            listing = asked.stdout if asked.returncode == 0 else ""
        except (OSError, subprocess.SubprocessError):
            pass
    return settings_from_listing(listing or _variables_listing(environment))


def settings_from_listing(listing: str) -> IndexSettings:
    """From what `pip config list` prints."""
    found: dict[str, dict[str, str]] = {}
    for line in listing.splitlines():
        key, _, shown = line.partition("=")
        section, _, name = key.rpartition(".")
        if section in _SECTIONS:
            found.setdefault(section, {})[_plain_name(name)] = _value(shown)
    values: dict[str, str] = {}
    for section in _SECTIONS:
        values |= found.get(section, {})
    return IndexSettings(
        index_url=values.get("index-url", "").strip(),
        extra_index_urls=tuple(values.get("extra-index-url", "").split()),
        find_links=tuple(_absolute(item) for item in values.get("find-links", "").split()),
        trusted_hosts=tuple(values.get("trusted-host", "").split()),
        no_index=_is_true(values.get("no-index", "")),
        cert=values.get("cert", ""),
        client_cert=values.get("client-cert", ""),
        proxy=values.get("proxy", ""),
        timeout=values.get("timeout", ""),
        retries=values.get("retries", ""),
        cache_dir=values.get("cache-dir", ""),
    )


def plain_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Without what would steer Python, pip or uv elsewhere."""
    return {
        key: value
        for key, value in environment.items()
        if not key.startswith(_DROPPED) or key in _KEPT_OF_UV
    } | {"PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8", "LC_ALL": "C.UTF-8"}


def requirement_text(packages: Iterable[LockedPackage], pins: Mapping[str, str]) -> str:
    """A lock as a file of requirements; `pins` by name, where it is not `==version`."""
    lines = []
    for package in packages:
        marker = f" ; {package.marker}" if package.marker else ""
        pin = pins.get(package.name, f"=={package.version}")
        hashes = "".join(f" \\\n    --hash={value}" for value in package.hashes)
        lines.append(f"{package.name}{pin}{marker}{hashes}\n")
    return "".join(lines)


def may_use_indexes(
    tool: Uv | Pip, settings: IndexSettings, environment: Mapping[str, str]
) -> bool:
    """Whether nobody told it to use none."""
    is_forbidden = isinstance(tool, Uv) and _is_true(environment.get("UV_NO_INDEX", ""))
    return not settings.no_index and not is_forbidden


_EXACT = ("--no-deps", "--require-hashes", "--only-binary", ":all:")


@dataclass(frozen=True)
class Uv:
    """Installs straight from the index, by hard links out of its cache."""

    program: Path
    settings: IndexSettings

    def environment(self, base: Mapping[str, str], from_folder: Path | None) -> dict[str, str]:
        given, kept = self.settings, plain_environment(base)
        if from_folder is not None:
            kept = {key: value for key, value in kept.items() if key not in _PLACES_OF_UV}
            added = {}
        else:
            added = {
                "UV_DEFAULT_INDEX": given.index_url,
                "UV_INDEX": " ".join(given.extra_index_urls),
                "UV_FIND_LINKS": ",".join(given.find_links),
                "UV_INSECURE_HOST": " ".join(given.trusted_hosts),
                "UV_NO_INDEX": "1" if given.no_index else "",
                "UV_HTTP_TIMEOUT": given.timeout,
                "UV_HTTP_RETRIES": given.retries,
                "SSL_CERT_FILE": given.cert,
                "SSL_CLIENT_CERT": given.client_cert,
                "HTTP_PROXY": given.proxy,
                "HTTPS_PROXY": given.proxy,
                "ALL_PROXY": given.proxy,
            }
        # What somebody set for uv itself counts before what they set for pip.
        own = _KEPT_OF_UV & set(kept)
        chosen = {key: value for key, value in added.items() if value and key not in own}
        return {
            **_with_indexes({**kept, **chosen}, given.bundle_indexes),
            "UV_PYTHON_DOWNLOADS": "never",
            "UV_NO_PROGRESS": "1",
            "UV_LINK_MODE": kept.get("UV_LINK_MODE", "hardlink"),
            "NO_COLOR": "1",
            # Says which packages are in its cache already.
            "RUST_LOG": "uv_installer=debug",
        }

    def make_venv(self, interpreter: Path, venv: Path) -> list[str]:
        python = ["--python", str(interpreter), "--no-project"]
        return [str(self.program), "venv", "--relocatable", *python, str(venv)]

    def install(
        self, venv: Path, requirements: Path, from_folder: Path | None, *, dry_run: bool = False
    ) -> list[str]:
        return [
            *(str(self.program), "pip", "install", "--python", str(venv / "bin" / "python")),
            *_EXACT,
            *("--index-strategy", "unsafe-best-match", "-r", str(requirements)),
            *(("--no-index", "--find-links", str(from_folder)) if from_folder else ()),
            *(("--dry-run",) if dry_run else ()),
        ]


@dataclass(frozen=True)
class Pip:
    """Fetches all wheels into a folder, then installs them from there."""

    # A file of the pip beside MOSAIC which runs that very pip in another Python; None where
    # the venv has to bring its own, which takes seconds.
    runner: Path | None
    settings: IndexSettings

    def environment(self, base: Mapping[str, str], temporary: Path) -> dict[str, str]:
        given = self.settings
        # Without a second try, it does not tell an index that is down from one without the package.
        retries = given.retries if given.retries.isdigit() and int(given.retries) else "1"
        added = {
            "PIP_INDEX_URL": given.index_url,
            "PIP_EXTRA_INDEX_URL": " ".join((*given.extra_index_urls, *given.bundle_indexes)),
            "PIP_FIND_LINKS": " ".join(given.find_links),
            "PIP_TRUSTED_HOST": " ".join(given.trusted_hosts),
            "PIP_NO_INDEX": "1" if given.no_index else "",
            "PIP_CERT": given.cert,
            "PIP_CLIENT_CERT": given.client_cert,
            "PIP_PROXY": given.proxy,
            "PIP_TIMEOUT": given.timeout,
            "PIP_RETRIES": retries if given.retries else "",
            "PIP_CACHE_DIR": given.cache_dir,
        }
        return {
            **plain_environment(base),
            **{key: value for key, value in added.items() if value},
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_INPUT": "1",
            "PIP_NO_COLOR": "1",
            "PIP_PROGRESS_BAR": "off",
            "PIP_ROOT_USER_ACTION": "ignore",
            # What it fetches grows there, where it can be watched.
            "TMPDIR": str(temporary),
        }

    def make_venv(self, interpreter: Path, venv: Path) -> list[str]:
        with_pip = ["--without-pip"] if self.runner else []
        return [str(interpreter), "-I", "-m", "venv", *with_pip, str(venv)]

    def fetch(self, venv: Path, requirements: Path, wheels: Path) -> list[str]:
        given = ["--dest", str(wheels), "-r", str(requirements)]
        return [*self._pip(venv), "download", *_EXACT, *given]

    def install(self, venv: Path, requirements: Path, wheels: Path) -> list[str]:
        given = ["--no-index", "--find-links", str(wheels), "-r", str(requirements)]
        # What the import test imports is compiled by that; the rest when it is first used.
        return [*self._pip(venv), "install", "--no-compile", *_EXACT, *given]

    def offline(self) -> Pip:
        return Pip(self.runner, IndexSettings(no_index=True))

    def _pip(self, venv: Path) -> list[str]:
        how = [str(self.runner)] if self.runner else ["-m", "pip"]
        return [str(venv / "bin" / "python"), "-I", *how]


def choose_tool(
    environment: Mapping[str, str], python_minor: str, settings: IndexSettings
) -> Uv | Pip:
    """uv where it is there, pip otherwise; `python_minor` is that of the venv to be ("3.11")."""
    wanted = environment.get(TOOL_VARIABLE, "")
    program = find_uv(environment) if wanted != "pip" else None
    if program is not None:
        return Uv(program, settings)
    return choose_pip(python_minor, settings)


def choose_pip(python_minor: str, settings: IndexSettings) -> Pip:
    folder = _pip_folder()
    runner = folder / "__pip-runner__.py" if folder else None
    # An old pip may not run in a newer Python: that one brings a pip along that does.
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    fits = runner is not None and python_minor == here and runner.is_file()
    return Pip(runner if fits else None, settings)


def find_uv(environment: Mapping[str, str]) -> Path | None:
    beside = Path(sys.executable).parent / "uv"
    if os.access(beside, os.X_OK):
        return beside
    found = shutil.which("uv", path=environment.get("PATH"))
    return Path(found) if found else None


def without_password(text: str) -> str:
    """An address as it may be shown."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return text
    if not parts.scheme or "@" not in parts.netloc:
        return text
    return text.replace(parts.netloc, f"***@{parts.netloc.rpartition('@')[2]}", 1)


def _with_indexes(variables: dict[str, str], indexes: tuple[str, ...]) -> dict[str, str]:
    """With these as the last that uv asks. Of two that have the same version it takes the file of
    the first, and only then looks at hashes: what pip's indexes have comes from there."""
    if not indexes:
        return variables
    places = {key: variables.get(key, "") for key in _PLACES_OF_UV}
    default = places["UV_DEFAULT_INDEX"] or places["UV_INDEX_URL"] or _PUBLIC_INDEX
    *others, last = indexes
    asked = (places["UV_INDEX"], places["UV_EXTRA_INDEX_URL"], default, *others)
    kept = {key: value for key, value in variables.items() if key not in places}
    for key in ("UV_FIND_LINKS", "UV_NO_INDEX"):
        if places[key]:
            kept[key] = places[key]
    return {**kept, "UV_INDEX": " ".join(filter(None, asked)), "UV_DEFAULT_INDEX": last}


def _pip_folder() -> Path | None:
    spec = importlib.util.find_spec("pip")
    return Path(spec.origin).parent if spec and spec.origin else None


def _variables_listing(environment: Mapping[str, str]) -> str:
    lines = (
        f":env:.{key.removeprefix('PIP_').lower().replace('_', '-')}={value!r}"
        for key, value in environment.items()
        if key.startswith("PIP_")
    )
    return "\n".join(lines)


def _is_true(text: str) -> bool:
    return text.strip().lower() in _TRUE


def _plain_name(name: str) -> str:
    return "timeout" if name == "default-timeout" else name


def _value(shown: str) -> str:
    try:
        value = ast.literal_eval(shown)
    except (ValueError, SyntaxError):
        return shown
    return value if isinstance(value, str) else shown


def _absolute(place: str) -> str:
    return place if "://" in place else str(Path(place).expanduser().absolute())
