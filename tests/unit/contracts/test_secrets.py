"""Which names hold a secret, and that values are secret unless their names are harmless."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mosaic.contracts.secrets import (
    PLAIN_NAMES,
    PLAIN_NAMES_BY_PURPOSE,
    PLAIN_PREFIXES,
    SecrecyRules,
    fields_with_passwords,
    is_reference,
    is_secret_name,
    redact_config,
    referenced_names,
    secret_fields,
    secret_values,
)

SECRET = """
PASSWORD password Passwd db_password dbPassword PGPASSWORD pgpassword POSTGRES_PASSWORD MYSQL_PWD
mysql_pwd DB_PASS SMTP_PASS db_pass SSHPASS passphrase GPG_PASSPHRASE db_pw ROOT_PW
TOKEN TOKEN1 token2 HF_TOKEN hf_token HUGGING_FACE_HUB_TOKEN GITHUB_TOKEN githubToken githubtoken
access_token accessToken refreshToken AUTH_TOKEN auth-token SESSION_TOKEN api_tokens accessTokens
API_KEY apikey apiKey api-key APIKEY wandbApiKey WANDB_API_KEY wandb_api_key API_KEY_2 apiKey3
OPENAI_KEY openai_key OPENAI_API_KEY ANTHROPIC_API_KEY AWS_SECRET_ACCESS_KEY AWS_ACCESS_KEY_ID
aws_access_key_id SECRET_KEY secretKey private_key PRIVATE_KEY sshKey signing_key LICENSE_KEY
ENCRYPTION_KEY MYSERVICE_KEY GITHUB_PAT github_pat GITLAB_PAT AZURE_DEVOPS_PAT
DATABASE_URL database_url DB_URL REDIS_URL MONGO_URI MONGODB_URI SQLALCHEMY_DATABASE_URI BROKER_URL
SENTRY_DSN DSN CONNECTION_STRING connectionString AZURE_STORAGE_CONNECTION_STRING conn_str
SLACK_WEBHOOK SLACK_WEBHOOK_URL slackWebhook DISCORD_WEBHOOK
CLIENT_SECRET client_secret clientSecret SECRET secrets MY_SECRET1
CREDENTIALS GOOGLE_CREDENTIALS_JSON google_application_credentials creds AWS_CREDS
AUTH HTTP_AUTH basic_auth AUTHORIZATION authorization bearer JWT SESSION_COOKIE cookie TOKEN_PROD
TOKEN_BASE64 API_KEY_B64 apiKeyBase64 SECRET_KEY_BASE
"""
ORDINARY = """
key KEY keys tokens max_tokens maxTokens num_tokens n_tokens MAX_TOKENS token_count tokens_per_batch
eos_token pad_token mask_token bos_token_id pad_token_id eosToken stop_token max-token tokenizer
tokenizer_name TOKENIZERS_PARALLELISM tokenize key_dim num_keys keyframe keyboard keypoints monkey
sort_key obs_key observation_key action_key rng_key prng_key random_key metric_key dict_key
author authors auth_mode auth_type authority use_authentication secretary
PWD OLDPWD pwd pass forward_pass num_passes n_pass passes bypass compass pattern pat spat
url base_url env_url URL WANDB_BASE_URL video_url uri checkpoint_uri string connection
password_file token_path private_key_path credentials_dir
learning_rate gamma gae_lambda seed env_id total_timesteps hidden_size policy_path batch_size
clip_coef num_envs exploration_fraction track wandb_project_name capture_video a 1 _ --
"""


@pytest.mark.parametrize("name", SECRET.split())
def test_names_that_say_that_they_hold_a_secret(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ORDINARY.split())
def test_names_that_only_sound_like_it(name: str) -> None:
    assert not is_secret_name(name)


def test_fields_are_found_however_deeply_they_are_nested() -> None:
    value = {
        "worker": {"config": {"list": [{"dbPassword": "x"}], "api_keys": ["", "k"], "key": "k"}},
        "token": "",
        "ui": {"hf_token": "secret://x", "auth": 3},
    }
    assert secret_fields(value, "metadata") == [
        "metadata.worker.config.list[0].dbPassword",
        "metadata.worker.config.api_keys[1]",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "postgres://me:hunter2@db.local/runs",
        "see https://x:y@h for more",
        "redis://:pw@cache:6379/0",
        "mysql+pymysql://root:a@b@db/x",
        "https://ghp_16C7e42F292c6912E7710c838347Ae178B4a@github.com/me/repo",
    ],
)
def test_a_password_in_a_url_is_found_anywhere(text: str) -> None:
    assert fields_with_passwords({"a": ["-", {"b": text}]}, "m") == ["m.a[1].b"]


@pytest.mark.parametrize(
    "text",
    [
        "https://api.wandb.ai",
        "git+ssh://git@github.com/me/repo",
        "https://host:8080/a@b",
        "https://host/path?mail=me:you@home",
        "sqlite:///study.db",
        "me@home.org",
        "a:b@c",
    ],
)
def test_addresses_without_a_password_are_let_through(text: str) -> None:
    assert fields_with_passwords({"a": text}, "m") == []


RUN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
NONE = SecrecyRules()
PAGE = Path(__file__).parents[3] / "docs/reference/secrets.md"


def test_only_names_of_the_list_are_plain() -> None:
    environment = {
        "OMP_NUM_THREADS": "4", "LC_ALL": "C", "MUJOCO_GL": "egl", "WANDB_MODE": "offline",
        "EMPTY": "", "WANDB_API_KEY": "k", "DATA_DIR": "/data", "ANYTHING": "1",
    }  # fmt: skip
    assert secret_values(environment, NONE) == {
        "WANDB_API_KEY": "k", "DATA_DIR": "/data", "ANYTHING": "1",
    }  # fmt: skip


def test_no_name_of_the_list_looks_secret() -> None:
    assert [name for name in PLAIN_NAMES if is_secret_name(name)] == []


def test_the_page_lists_every_name_that_is_plain() -> None:
    page = PAGE.read_text()
    for purpose, names in PLAIN_NAMES_BY_PURPOSE.items():
        row = next(line for line in page.splitlines() if line.startswith(f"| {purpose} |"))
        assert row.split("`")[1::2] == names.split()
    assert all(f"`{prefix}*`" in page for prefix in PLAIN_PREFIXES)


def test_people_can_declare_names_plain_and_secret_and_secret_wins() -> None:
    rules = SecrecyRules.of(
        {"MOSAIC_PLAIN_ENV": "DATA_DIR, MODE\nBOTH", "MOSAIC_SECRET_ENV": "BOTH,TZ"}
    )
    environment = dict.fromkeys(("DATA_DIR", "MODE", "BOTH", "TZ", "OTHER"), "x")
    assert set(secret_values(environment, rules)) == {"BOTH", "TZ", "OTHER"}


def test_a_config_declares_its_own_variables_plain() -> None:
    config = {
        "environment": {"DATA_DIR": "/data", "OTHER": "1", "A_TOKEN": "t"},
        "metadata": {"plain_environment": ["DATA_DIR", "A_TOKEN"]},
    }
    stored = redact_config(config, RUN, NONE)
    assert stored["environment"] == {
        "DATA_DIR": "/data",
        "OTHER": f"secret://{RUN}/OTHER",
        "A_TOKEN": f"secret://{RUN}/A_TOKEN",
    }


@pytest.mark.parametrize("name", ["WANDB_API_KEY", "PGPASSWORD", "GITHUB_PAT", "TOKEN1"])
def test_a_name_that_looks_secret_cannot_be_declared_plain(name: str) -> None:
    rules = SecrecyRules.of({"MOSAIC_PLAIN_ENV": name})
    assert secret_values({name: "x"}, rules) == {name: "x"}


def test_a_password_in_a_url_is_secret_whatever_the_name_says() -> None:
    assert secret_values({"WANDB_PROJECT": "https://me:pw@host"}, NONE)
    assert secret_values({"MINE": "a://b:c@d"}, SecrecyRules(plain_names=frozenset({"MINE"})))


def test_the_stored_config_refers_to_values_and_leaves_the_original_alone() -> None:
    raw = {"run_name": "a", "environment": {"WANDB_API_KEY": "canary", "SEED": "1"}}
    stored = redact_config(raw, RUN, NONE)
    assert stored["environment"] == {"WANDB_API_KEY": f"secret://{RUN}/WANDB_API_KEY", "SEED": "1"}
    assert "canary" not in json.dumps(stored)
    assert raw["environment"] == {"WANDB_API_KEY": "canary", "SEED": "1"}
    assert referenced_names(stored["environment"]) == ["WANDB_API_KEY"]
    assert redact_config(stored, RUN, NONE) == stored
    assert redact_config(stored, RUN.replace("5", "7"), NONE) == stored, "it says whose it was"


@pytest.mark.parametrize(
    "value",
    ["secret://canary", f"secret://{RUN}/OTHER", f"secret://{RUN}/X/X", "secret:///X", f"{RUN}/X"],
)
def test_a_value_that_only_begins_like_a_reference_is_a_value(value: str) -> None:
    assert not is_reference("X", value)
    stored = redact_config({"environment": {"X": value}}, RUN, NONE)
    assert stored["environment"] == {"X": f"secret://{RUN}/X"}


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"environment": None},
        {"environment": ["A=canary"]},
        {"environment": {"A": "x"}, "metadata": 7},
        {"environment": {"A": "x"}, "metadata": {"plain_environment": [1, None, {"A": 1}]}},
        {"environment": {"A": "x"}, "metadata": {"plain_environment": "A"}},
        {"environment": {"A": 7, "B": ["canary"], "C": {"D": "canary"}, "": "x"}},
    ],
)
def test_any_parsed_object_can_be_redacted(config: dict[str, Any]) -> None:
    stored = redact_config(config, RUN, NONE)
    environment = stored.get("environment")
    if isinstance(environment, dict):
        assert all(is_reference(name, value) for name, value in environment.items())


def test_masked_are_values_of_telling_names_and_values_that_look_made_up() -> None:
    rules = SecrecyRules(secret_names=frozenset({"LICENCE"}))
    masked = {
        "WANDB_API_KEY": "true", "LICENCE": "word", "X": "sk-9Q8w7E6r5T", "Y": "a://b:c@d",
        "Z": "8f14e45fceea167a5a36dedd4bea2543",
    }  # fmt: skip
    shown = {"A": "1", "B": "true", "C": "/usr/bin", "D": "production", "E": "10000000"}
    assert all(rules.is_masked(name, value) for name, value in masked.items())
    assert not any(rules.is_masked(name, value) for name, value in shown.items())
