"""Which W&B logs a run has, and what has to be there before one is uploaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from mosaic.analytics.wandb.reader import is_offline, wandb_logs
from mosaic.analytics.wandb.sync import require_key, without_secrets
from mosaic.contracts.manifest import AnalyticsManifest, WandbArtifact
from mosaic.errors import RequestError

SERVER = "https://api.wandb.ai"


def log_in(folder: Path, name: str) -> Path:
    place = folder / name
    place.mkdir(parents=True)
    log = place / f"run-{name.rpartition('-')[2]}.wandb"
    log.write_bytes(b"")
    return log


def told(path: str, **metadata: object) -> AnalyticsManifest:
    return AnalyticsManifest(
        "R", "w", wandb=WandbArtifact(True, relative_path=path), metadata=dict(metadata)
    )


def test_logs_are_found_once_and_oldest_first(tmp_path: Path) -> None:
    newer = log_in(tmp_path / "wandb", "run-20260102_000000-bbb")
    older = log_in(tmp_path / "wandb", "offline-run-20260101_000000-aaa")
    assert wandb_logs(tmp_path, told("wandb"), may_leave=True) == [older, newer]
    assert wandb_logs(tmp_path, AnalyticsManifest("R", "w"), may_leave=True) == [older, newer]
    assert (is_offline(older), is_offline(newer)) == (True, False)


def test_a_script_may_have_put_its_log_anywhere(tmp_path: Path) -> None:
    log = log_in(tmp_path / "elsewhere", "offline-run-20260101_000000-aaa")
    run = tmp_path / "run"
    run.mkdir()
    assert wandb_logs(run, told(str(log.parent)), may_leave=True) == [log]
    assert wandb_logs(run, told("gone", wandb_folders=[str(log.parent)]), may_leave=True) == [log]
    assert wandb_logs(run, told("gone", wandb_folders="nonsense"), may_leave=True) == []


def test_a_key_comes_from_the_environment_or_netrc(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    require_key(SERVER, {"WANDB_API_KEY": "k", **home})
    with pytest.raises(RequestError, match="no W&B key"):
        require_key(SERVER, home)
    (tmp_path / ".netrc").write_text("machine api.wandb.ai login user password secret-key\n")
    require_key(SERVER, home)
    with pytest.raises(RequestError, match=r"no W&B key for other\.example"):
        require_key("https://other.example", home)
    (tmp_path / ".netrc").write_text("machine\nnonsense")
    with pytest.raises(RequestError) as caught:
        require_key(SERVER, home)
    assert "secret-key" not in caught.value.message


def test_a_key_is_never_repeated() -> None:
    assert without_secrets("key abcd1234!", {"WANDB_API_KEY": "abcd1234"}) == "key ***!"
    assert without_secrets("text", {}) == "text"
