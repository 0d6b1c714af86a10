"""Which names say of themselves that what they hold is secret, whatever they are written like."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from typing import Any

from mosaic.contracts.secret_text import url_passwords

SECRET_REFERENCE = "secret://"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# `wandbApiKey`, `WANDB_API_KEY`, `wandb-api-key` and `API_KEY_2` are the same words.
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
_TELLING = _words(
    """
    password passwd passphrase passcode pwd pw secret secrets token apikey apitoken credential
    credentials creds auth authorization bearer jwt cookie webhook dsn
    """
)
# Also without anything in between: PGPASSWORD, dbpasswd, githubtoken, SSHPASS.
_TELLING_ENDINGS = (
    *("password", "passwd", "passphrase", "pwd", "secret", "token", "apikey", "secretkey"),
    *("accesskey", "privatekey", "credential", "credentials", "webhook", "sshpass"),
)
# Where a shell says in which folder it is.
_FOLDERS = _words("pwd oldpwd")
# These say which one of several it is, or how it is written, not what it is. Digits belong to no
# word: `b` and `base` are what remains of b64 and base64.
_AFTERTHOUGHTS = _words(
    """
    value string str text raw json yaml b base prod dev test staging main backup old new
    primary secondary
    """
)
# The tokens of a text, which every language model has.
_VOCABULARY = _words(
    """
    eos bos pad unk mask sep cls stop start end begin special num max min per image first last next
    padding separator
    """
)
_SERVICES = _words(
    """
    openai anthropic wandb github gitlab hf huggingface aws azure gcp google gemini cohere mistral
    groq deepseek replicate kaggle comet neptune clearml mlflow slack discord stripe twilio
    sendgrid pinecone heroku docker npm pypi
    """
)
# Before `key`; a `sort_key` or an `obs_key` is none.
_LOCKED_WITH = _SERVICES | _words(
    """
    api app secret private access auth encryption encrypt decryption signing sign master ssh gpg
    pgp rsa aes hmac ssl tls session license licence service account storage client deploy host
    server user project shared admin
    """
)
# Before `pass`; a `forward_pass` is none.
_LOGS_IN = _words(
    """
    db database user smtp mail email imap mysql postgres pg redis mongo ftp ssh http https proxy
    admin root login account service vpn wifi
    """
)
# Before `url` and `uri`: what these lead to is entered with a password that stands in them.
_ENTERED_BY_ADDRESS = _words(
    """
    database db redis mongo mongodb postgres postgresql pg mysql mariadb jdbc amqp rabbitmq broker
    webhook hook connection dsn sentry elasticsearch clickhouse
    """
)
# Of an option that only sounds like a secret, as in `--use-auth false`.
_SWITCHES = ("", "true", "false", "none", "yes", "no")
# Before `tokens`; `max_tokens` are none.
_SENT_ALONG = _words("access api auth bearer refresh session secret")


@functools.lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Only a name: whether `tokens` are secret nobody can tell, so ordinary names win."""
    words = [word.lower() for word in _WORD.findall(name)]
    if words[-2:] in (["connection", "string"], ["conn", "str"], ["conn", "string"]):
        return True
    if words[-2:] == ["key", "id"]:  # the public half of a pair, but half of it
        words.pop()
    while len(words) > 1 and words[-1] in _AFTERTHOUGHTS:
        words.pop()
    if not words:
        return False
    before, last = (words[-2] if len(words) > 1 else ""), words[-1]
    # How environment variables are written, and hyperparameters are not.
    is_variable = bool(before) and name.upper() == name
    match last:
        case "key":
            return before in _LOCKED_WITH or is_variable
        case "keys":
            return before in _LOCKED_WITH
        case "token":
            return before not in _VOCABULARY
        case "tokens":
            return before in _SENT_ALONG
        case "pass":
            return before in _LOGS_IN or is_variable
        case "pat":
            return before in _SERVICES or is_variable
        case "url" | "uri":
            return before in _ENTERED_BY_ADDRESS
        case "pwd" | "pw":
            return bool(before)
    return last in _TELLING or (last.endswith(_TELLING_ENDINGS) and last not in _FOLDERS)


def secret_word(words: Sequence[str]) -> int | None:
    """Which word of a command gives a secret: `--token x`, `--token=x`, and what `env` and
    configs by dots take: `TOKEN=x`, `wandb.api_key=x`. None when there is none.
    """
    for index, word in enumerate(words):
        name, equals, value = word.lstrip("-").partition("=")
        follows = words[index + 1] if index + 1 < len(words) else "-"
        if word.startswith("--") and not equals and not follows.startswith("-"):
            value = follows
        is_switch = value.lower() in _SWITCHES or (len(value) <= 3 and value.isdigit())
        is_variable = value.startswith(("$", '"$'))  # in a line for a shell
        if not is_switch and not is_variable and " " not in name and is_secret_name(name):
            return index
    return None


def secret_fields(value: Any, path: str) -> list[str]:
    """Dotted paths of non-empty strings whose key says they are secret, however deeply nested."""
    return [
        where
        for where, key, text in _texts(value, path, "")
        if text and is_secret_name(key) and not text.startswith(SECRET_REFERENCE)
    ]


def fields_with_passwords(value: Any, path: str) -> list[str]:
    """Dotted paths of strings with a URL that holds a password, however deeply nested."""
    return [where for where, _, text in _texts(value, path, "") if url_passwords(text)]


def _texts(value: Any, path: str, key: str) -> Iterator[tuple[str, str, str]]:
    """(dotted path, name, text) of all strings; those in a list have the name of the list."""
    if isinstance(value, str):
        yield path, key, value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _texts(item, f"{path}.{name}", str(name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, f"{path}[{index}]", key)
