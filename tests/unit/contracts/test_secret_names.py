"""Names that say that they hold a secret, and names that only sound like it."""

from __future__ import annotations

import pytest

from mosaic.contracts.secrets import fields_with_passwords, is_secret_name, secret_fields

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
