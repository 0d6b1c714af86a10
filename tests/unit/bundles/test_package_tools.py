"""What uv and pip are told: the settings of pip, and nothing that would lead them elsewhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mosaic.bundles.locks import LockedPackage
from mosaic.bundles.package_tools import (
    TOOL_VARIABLE,
    IndexSettings,
    Pip,
    Uv,
    choose_pip,
    choose_tool,
    may_use_indexes,
    plain_environment,
    requirement_text,
    settings_from_listing,
    without_password,
)

LISTING = """\
:env:.cert='/etc/ours.pem'
:env:.default-timeout='7'
:env:.find-links='/some/wheels more/wheels'
global.cert='/etc/theirs.pem'
global.extra-index-url='https://one.test/simple\\nhttps://name:secret@two.test/simple'
global.index-url='https://mirror.test/simple'
global.user='true'
install.index-url='https://other.test/simple'
install.no-index='no'
download.index-url='https://ignored.test/simple'
"""
SETTINGS = IndexSettings(
    index_url="https://name:secret@mirror.test/simple",
    extra_index_urls=("https://one.test/simple", "https://two.test/simple"),
    find_links=("/some/wheels", "https://links.test/"),
    trusted_hosts=("mirror.test",),
    cert="/etc/ours.pem",
    proxy="http://proxy.test:3128",
    timeout="7",
    retries="4",
)
HOSTILE = {
    "PATH": "/bin",
    "HOME": "/home/somebody",
    "PIP_TARGET": "/elsewhere",
    "PIP_USER": "1",
    "PIP_CONSTRAINT": "/constraints.txt",
    "PYTHONPATH": "/elsewhere",
    "PYTHONDONTWRITEBYTECODE": "1",
    "VIRTUAL_ENV": "/elsewhere",
    "UV_PYTHON": "3.8",
    "UV_TARGET": "/elsewhere",
    "UV_CACHE_DIR": "/cache",
    "UV_HTTP_TIMEOUT": "90",
}


def test_settings_of_pip_are_read_with_the_precedence_pip_gives_them() -> None:
    settings = settings_from_listing(LISTING)
    assert settings.index_url == "https://other.test/simple"
    assert settings.extra_index_urls == (
        "https://one.test/simple",
        "https://name:secret@two.test/simple",
    )
    assert settings.find_links[0] == "/some/wheels"
    assert Path(settings.find_links[1]) == Path("more/wheels").absolute()
    assert (settings.cert, settings.timeout, settings.no_index) == ("/etc/ours.pem", "7", False)


@pytest.mark.parametrize("listing", ["", "nonsense", "global.index-url=no'quotes", "=\n=.\n"])
def test_a_listing_that_makes_no_sense_sets_nothing_but_what_it_says(listing: str) -> None:
    settings = settings_from_listing(listing)
    assert settings in (IndexSettings(), IndexSettings(index_url="no'quotes"))


def test_what_people_are_shown_of_an_address_has_no_password() -> None:
    shown = settings_from_listing(LISTING).places
    assert "https://***@two.test/simple" in shown and "secret" not in "".join(shown)
    assert without_password("https://plain.test/simple") == "https://plain.test/simple"
    assert without_password("/a/folder@home") == "/a/folder@home"
    assert without_password("http://[half") == "http://[half"


def test_uv_gets_the_settings_of_pip_through_the_environment_only() -> None:
    tool = Uv(Path("/bin/uv"), SETTINGS)
    variables = tool.environment(HOSTILE, None)
    assert variables["UV_DEFAULT_INDEX"] == SETTINGS.index_url
    assert variables["UV_INDEX"].split() == list(SETTINGS.extra_index_urls)
    assert variables["UV_FIND_LINKS"].split(",") == list(SETTINGS.find_links)
    assert variables["UV_INSECURE_HOST"] == "mirror.test"
    assert variables["SSL_CERT_FILE"] == "/etc/ours.pem"
    assert variables["HTTPS_PROXY"] == "http://proxy.test:3128"
    assert variables["UV_PYTHON_DOWNLOADS"] == "never"
    # What was set for uv itself counts before what was set for pip.
    assert (variables["UV_HTTP_TIMEOUT"], variables["UV_HTTP_RETRIES"]) == ("90", "4")
    command = tool.install(Path("/venv"), Path("/requirements"), None)
    assert "secret" not in " ".join(command)
    assert {"--require-hashes", "--no-deps", "--only-binary"} <= set(command)
    assert "unsafe-best-match" in command and "--no-index" not in command


def test_from_a_folder_neither_tool_knows_of_any_index() -> None:
    folder = Path("/a stick/wheels")
    uv = Uv(Path("/bin/uv"), SETTINGS)
    environment = {**HOSTILE, "UV_INDEX": "https://kept.test", "UV_DEFAULT_INDEX": "https://k.test"}
    assert not {"UV_INDEX", "UV_DEFAULT_INDEX", "UV_FIND_LINKS", "HTTPS_PROXY"} & set(
        uv.environment(environment, folder)
    )
    command = uv.install(Path("/venv"), Path("/requirements"), folder)
    assert command[command.index("--find-links") + 1] == str(folder) and "--no-index" in command
    pip = Pip(None, IndexSettings(no_index=True))
    assert pip.environment(HOSTILE, Path("/tmp"))["PIP_NO_INDEX"] == "1"
    command = pip.install(Path("/venv"), Path("/requirements"), folder)
    assert command[command.index("--find-links") + 1] == str(folder) and "--no-index" in command


def test_pip_reads_no_settings_but_those_it_is_given() -> None:
    tool = Pip(Path("/pip/__pip-runner__.py"), SETTINGS)
    variables = tool.environment(HOSTILE, Path("/large/temporary"))
    assert variables["PIP_CONFIG_FILE"] == "/dev/null"
    assert variables["PIP_INDEX_URL"] == SETTINGS.index_url
    assert variables["PIP_EXTRA_INDEX_URL"].split() == list(SETTINGS.extra_index_urls)
    assert variables["TMPDIR"] == "/large/temporary"
    assert not {"PIP_TARGET", "PIP_USER", "PIP_CONSTRAINT"} & set(variables)
    command = tool.fetch(Path("/venv"), Path("/requirements"), Path("/wheels"))
    assert "secret" not in " ".join(command)
    assert command[:3] == ["/venv/bin/python", "-I", "/pip/__pip-runner__.py"]


def test_pip_tries_at_least_twice_or_an_index_that_is_down_looks_empty() -> None:
    def retries(value: str) -> str:
        variables = Pip(None, IndexSettings(retries=value)).environment({}, Path("/tmp"))
        return variables.get("PIP_RETRIES", "")

    assert [retries(value) for value in ("0", "9", "", "many")] == ["1", "9", "", "1"]


def test_nothing_leads_python_pip_or_uv_elsewhere() -> None:
    plain = plain_environment(HOSTILE)
    assert {key for key in HOSTILE if key in plain} == {
        *("PATH", "HOME", "UV_CACHE_DIR", "UV_HTTP_TIMEOUT")
    }


def test_a_lock_becomes_requirements_with_every_hash_and_marker() -> None:
    packages = [
        LockedPackage("alpha", "1.0", ("sha256:aa", "sha256:bb"), 1),
        LockedPackage("beta", "2.0", ("sha256:cc",), 1, 'sys_platform == "linux"'),
    ]
    assert requirement_text(packages, {"alpha": "==1.0+cpu"}) == (
        "alpha==1.0+cpu \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n"
        'beta==2.0 ; sys_platform == "linux" \\\n    --hash=sha256:cc\n'
    )


def test_uv_is_taken_where_it_is_found_and_pip_where_that_is_wished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    uv = tmp_path / "uv"
    uv.touch(mode=0o755)
    settings = IndexSettings()
    assert choose_tool({"PATH": ""}, "3.11", settings) == Uv(uv, settings)
    assert isinstance(choose_tool({TOOL_VARIABLE: "pip"}, "3.11", settings), Pip)
    uv.unlink()
    assert isinstance(choose_tool({"PATH": ""}, "3.11", settings), Pip)


def test_a_python_of_another_version_uses_the_pip_it_brings_along() -> None:
    tool = choose_pip("3.99", IndexSettings())
    assert tool.runner is None
    assert "--without-pip" not in tool.make_venv(Path("/python"), Path("/venv"))


MORE = replace(
    SETTINGS, bundle_indexes=("https://first.test/cpu", "https://name:secret@second.test/cpu")
)


def test_both_tools_ask_the_indexes_of_bundles_after_those_of_the_user() -> None:
    pip = Pip(None, MORE).environment({}, Path("/tmp"))
    assert pip["PIP_INDEX_URL"] == SETTINGS.index_url
    assert pip["PIP_EXTRA_INDEX_URL"].split() == [*SETTINGS.extra_index_urls, *MORE.bundle_indexes]

    uv = Uv(Path("/bin/uv"), MORE).environment({}, None)
    asked = [*uv["UV_INDEX"].split(), uv["UV_DEFAULT_INDEX"]]  # uv asks that one last
    assert asked == [*SETTINGS.extra_index_urls, SETTINGS.index_url, *MORE.bundle_indexes]
    assert uv["UV_FIND_LINKS"].split(",") == list(SETTINGS.find_links)

    theirs = {"UV_INDEX_URL": "https://uv.test/simple", "UV_EXTRA_INDEX_URL": "https://more.test"}
    only = IndexSettings(bundle_indexes=("https://first.test/cpu",))
    uv = Uv(Path("/bin/uv"), only).environment(theirs, None)
    assert uv["UV_INDEX"].split() == ["https://more.test", "https://uv.test/simple"]
    assert uv["UV_DEFAULT_INDEX"] == "https://first.test/cpu" and "UV_INDEX_URL" not in uv
    uv = Uv(Path("/bin/uv"), only).environment({}, None)
    assert uv["UV_INDEX"] == "https://pypi.org/simple"


def test_the_indexes_of_bundles_are_shown_without_a_password() -> None:
    assert MORE.places == SETTINGS.places
    assert MORE.bundle_places == ("https://first.test/cpu", "https://***@second.test/cpu")


def test_who_said_that_no_index_is_to_be_used_is_obeyed() -> None:
    uv, pip = Uv(Path("/bin/uv"), SETTINGS), Pip(None, SETTINGS)
    assert may_use_indexes(uv, SETTINGS, {}) and may_use_indexes(pip, SETTINGS, {})
    assert not may_use_indexes(uv, SETTINGS, {"UV_NO_INDEX": "true"})
    assert not may_use_indexes(pip, IndexSettings(no_index=True), {})
