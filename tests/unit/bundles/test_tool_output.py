"""What uv and pip print, as they printed it, and what is made of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mosaic.bundles.locks import LockedPackage
from mosaic.bundles.package_tools import IndexSettings
from mosaic.bundles.tool_output import (
    PipFetch,
    UvFetch,
    explain,
    has_wrong_hash,
    missing_package,
    pins_with_local,
    pins_without_local,
)
from mosaic.errors import BundleError

PACKAGES = [
    LockedPackage("big-one", "1.0", ("sha256:aa",), 1000),
    LockedPackage("small", "2.0", ("sha256:bb",), 100),
    LockedPackage("local", "3.0", ("sha256:cc",), 10),
]
PIP_LINES = """\
Looking in indexes: https://mirror.test/simple
Collecting big-one==1.0 (from -r requirements.txt (line 1))
  Downloading https://mirror.test/files/Big_One-1.0-py3-none-any.whl.metadata (1 kB)
  Downloading https://mirror.test/files/Big_One-1.0-py3-none-any.whl (1.0 kB)
Collecting small==2.0 (from -r requirements.txt (line 3))
  Using cached https://mirror.test/files/small-2.0-py3-none-any.whl (100 bytes)
Processing /wheels/local-3.0%2Bcpu-py3-none-any.whl
Saved ./wheels/big_one-1.0-py3-none-any.whl
"""
UV_LINES = """\
Using Python 3.11.7 environment at: /venv
Resolved 3 packages in 31ms
DEBUG Registry requirement already cached: small==2.0
DEBUG Identified uncached distribution: big-one==1.0
DEBUG Identified uncached distribution: local==3.0+cpu
Downloading big-one (19.1MiB)
Downloading local (2.9MiB)
 Downloaded local
"""
PIP_HASH = """\
ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. If you have updated the \
package versions, please update the hashes.
    torch==2.0 from file:///wheels/torch-2.0%2Bcpu-py3-none-any.whl (from -r r.txt (line 6)):
        Expected sha256 fa50b676
             Got        8a50b676
"""
UV_HASH = """\
error: Failed to download `torch==2.0+cpu`
  cause: Hash mismatch for `torch==2.0+cpu`

         Expected:
           sha256:f208634d
"""
UV_NO_HASH = """\
error: Failed to download `torch==2.0+cpu`
  cause: Hash-checking is enabled, but no hashes were provided or computed for: torch==2.0+cpu
"""


def lines(text: str) -> list[str]:
    return text.splitlines()


def told(
    text: str, status: int = 1, from_folder: Path | None = None, missing: str = ""
) -> BundleError:
    settings = IndexSettings(
        index_url="https://name:secret@mirror.test/simple",
        bundle_indexes=("https://name:secret@makers.test/cpu",) if missing else (),
    )
    return explain(
        lines(text),
        status,
        bundle="learner",
        settings=settings,
        from_folder=from_folder,
        log=Path("/venvs/learner.log"),
        missing=missing,
    )


def test_of_pip_the_growing_file_counts_and_what_is_cached_counts_at_once() -> None:
    fetch = PipFetch(PACKAGES)
    progress = []
    for line in lines(PIP_LINES):
        fetch.read(line)
        fetch.look({"Big_One-1.0-py3-none-any.whl": 400, "other.tmp": 5000}, 0)
        progress.append((fetch.item, fetch.done_bytes))
    assert progress == [
        *[("", 0)] * 3,
        *[("big-one", 400)] * 2,
        *[("big-one", 500), ("big-one", 510), ("big-one", 1110)],
    ]


def test_of_pip_the_next_download_ends_the_one_before() -> None:
    fetch = PipFetch(PACKAGES)
    fetch.read("  Downloading big_one-1.0-py3-none-any.whl (1.0 kB)")
    fetch.read("  Downloading small-2.0-py3-none-any.whl (100 bytes)")
    assert (fetch.item, fetch.done_bytes) == ("small", 1000)


def test_of_uv_what_is_written_is_an_estimate_that_never_reaches_all() -> None:
    fetch = UvFetch(PACKAGES)
    for line in lines(UV_LINES):
        fetch.read(line)
    assert (fetch.item, fetch.done_bytes) == ("big-one", 110)
    fetch.look({}, 1500)
    assert fetch.done_bytes == 100 + 500
    fetch.look({}, 10**9)
    assert 1000 < fetch.done_bytes < 1110 and not fetch.is_over
    fetch.read("Prepared 2 packages in 3.08s")
    assert fetch.done_bytes == 1110 and fetch.is_over


@pytest.mark.parametrize("fetch", [PipFetch(PACKAGES), UvFetch(PACKAGES), PipFetch([])])
def test_what_is_no_line_of_theirs_changes_nothing(fetch: PipFetch | UvFetch) -> None:
    for line in ("", "Downloading", "Downloading x", "  Saved ?.whl", "already cached: ==", "\0"):
        fetch.read(line)
        fetch.look({"": 3, "x.whl": 4}, 0)
    assert fetch.done_bytes == 0


def test_uv_is_told_of_a_local_version_once_per_package() -> None:
    pins = pins_with_local(lines(UV_NO_HASH), {})
    assert pins == {"torch": "==2.0+cpu"}
    assert pins_with_local(lines(UV_NO_HASH), pins) == {}
    assert pins_with_local(lines(UV_HASH), {}) == {}


def test_pip_is_kept_from_a_local_version_only_if_that_is_what_it_took() -> None:
    assert pins_without_local(lines(PIP_HASH)) == {"torch": "===2.0"}
    assert pins_without_local(lines(PIP_HASH.replace("%2Bcpu", ""))) == {}
    assert has_wrong_hash(lines(PIP_HASH)) and has_wrong_hash(lines(UV_HASH))


@pytest.mark.parametrize(
    ("text", "sentence", "hint"),
    [
        (PIP_HASH, "torch==2.0 from the index (https://***@mirror.test/simple)", "mirror"),
        (UV_HASH, "torch==2.0+cpu from the index", "mirror"),
        ("error: x\n  cause: No space left on device (os error 28)", "no room left", "prune"),
        (
            "error: Failed to fetch: `x`\n  cause: tcp connect error\n  cause: Connection refused",
            "does not answer: Connection refused",
            "--from FOLDER",
        ),
        (
            "WARNING: Retrying after connection broken by 'NewConnectionError: refused'\n"
            "ERROR: No matching distribution found for alpha==1.0",
            "does not answer",
            "pip config list",
        ),
        *(
            (f"WARNING: Retrying (x) after connection broken by '{raised}': /a/", said, "--from")
            for raised, said in (
                ("New('<C object at 0x7f>: [Errno 111] Refused')", "answer: [Errno 111] Refused."),
                ("Slow(\"Pool(a='b'): Read timed out. (1)\")", "answer: Pool(a='b'): Read timed"),
                ("Proxy('No proxy', New('<C object at 0x7f>: No route'))", "answer: No route."),
                ("Off('Aborted.', Gone('Remote end closed it'))", "answer: Remote end closed it."),
                ("Slow(<C object at 0x7f>, 'No connection to x.')", "answer: No connection to x."),
            )
        ),
        (
            "ERROR: Could not find a version that satisfies the requirement beta==1.7\n"
            "ERROR: No matching distribution found for beta==1.7",
            "beta==1.7 is not to be had",
            "pip config list",
        ),
        (
            "  cause: Because there is no version of\n      beta==1.7 and you require beta==1.7",
            "beta==1.7 is not to be had",
            "pip config list",
        ),
        (
            "  cause: Because gamma was not found in the package registry and you",
            "gamma is not to be had",
            "pip config list",
        ),
        ("x [SSL: CERTIFICATE_VERIFY_FAILED] x", "is not trusted", "global.cert"),
        ("ERROR: 403 Client Error: Forbidden for url", "refuses us", "password"),
        ("error: something new", "could not be installed: something new", "All it said"),
        ("", "ended with status 1", "All it said"),
    ],
)
def test_why_a_tool_failed_is_a_sentence_with_what_to_do(
    text: str, sentence: str, hint: str
) -> None:
    error = told(text)
    assert sentence in error.message and hint in error.hint
    assert "/venvs/learner.log" in error.hint and "secret" not in error.message + error.hint


def test_a_folder_is_named_in_place_of_the_index() -> None:
    error = told(UV_HASH, from_folder=Path("/stick"))
    assert "from /stick is not the file" in error.message and "pack" in error.hint


def test_who_told_pip_to_use_no_index_is_reminded() -> None:
    text = "ERROR: No matching distribution found for alpha==1.0"
    error = explain(
        lines(text), 1, bundle="learner", settings=IndexSettings(no_index=True), from_folder=None,
        log=Path("/venvs/learner.log"),
    )  # fmt: skip
    assert "no-index" in error.hint


def test_a_tool_that_was_killed_is_said_to_be() -> None:
    assert "killed by signal 9" in told("", status=-9).message
    assert "no room left" in told("", status=-25).message


PIP_MISSING = "ERROR: No matching distribution found for torch==2.0+cpu"
UV_MISSING = "  cause: Because there is no version of\n      torch==2.0+cpu and you require it"
SILENT = "WARNING: Retrying (x) after connection broken by 'New('refused')': /a/"


def test_a_package_is_missing_only_if_nothing_else_kept_it_away() -> None:
    assert missing_package(lines(PIP_MISSING)) == "torch==2.0+cpu"
    assert missing_package(lines(UV_MISSING)) == "torch==2.0+cpu"
    for other in (SILENT, PIP_HASH, UV_HASH, "x CERTIFICATE_VERIFY_FAILED", "403 Client Error: x"):
        assert missing_package(lines(f"{other}\n{PIP_MISSING}")) == ""
    assert missing_package(lines("error: something new")) == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{SILENT}\n{PIP_MISSING}", "does not answer: refused."),
        ("error: x\n  cause: Connection refused", "does not answer: Connection refused"),
        ("error: x\n  cause: invalid peer certificate: x", "has a certificate that is not trusted"),
        ("ERROR: 403 Client Error: Forbidden for url", "refuses us: 403 Client Error"),
    ],
)
def test_where_the_index_of_the_bundle_cannot_be_asked_either_both_are_named(
    text: str, said: str
) -> None:
    error = told(text, missing="torch==2.0+cpu")
    assert error.message.startswith(
        "torch==2.0+cpu is not to be had for this Python and machine from the index"
        " (https://***@mirror.test/simple), and the index of the bundle itself"
        f" (https://***@makers.test/cpu) {said}"
    )
    assert "pip config list" in error.hint and "--from FOLDER" in error.hint
    assert "secret" not in error.message + error.hint


def test_what_is_in_neither_index_is_said_to_be_in_neither() -> None:
    error = told(UV_MISSING, missing="torch==2.0+cpu")
    assert "mirror.test/simple), or that of the bundle itself (https://***@makers" in error.message
    assert "no room left" in told("No space left on device", missing="torch==2.0+cpu").message
