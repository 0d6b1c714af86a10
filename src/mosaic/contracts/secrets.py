"""Which names and environment variables hold secrets, and what of them may be stored.

Everything that is stored of a run (its config, archives, what `show` says) holds the names of its
variables. Values are secret unless the name is on the list below, or somebody declared it plain:
nobody can tell from a name that a value is harmless, but there is a list of names that are.
"""

from __future__ import annotations

import copy
import functools
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mosaic.contracts.hostile_text import RUN_ID
from mosaic.contracts.secret_text import is_ordinary_text, url_passwords

# -- Names that say of themselves that what they hold is secret, whatever they are written like

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


# -- Environment variables: which may be stored with their values, and which are masked

# Of the daemon's environment, or of the window's: names separated by commas or spaces.
SECRET_NAMES_VARIABLE = "MOSAIC_SECRET_ENV"
PLAIN_NAMES_VARIABLE = "MOSAIC_PLAIN_ENV"
# The same in a TrainRunConfig, for its own variables.
PLAIN_NAMES_FIELD = "plain_environment"

PLAIN_NAMES_BY_PURPOSE = {
    "threads": """
        OMP_NUM_THREADS MKL_NUM_THREADS OPENBLAS_NUM_THREADS NUMEXPR_NUM_THREADS NUMBA_NUM_THREADS
        VECLIB_MAXIMUM_THREADS BLIS_NUM_THREADS RAYON_NUM_THREADS TF_NUM_INTRAOP_THREADS
        TF_NUM_INTEROP_THREADS OMP_PROC_BIND OMP_PLACES KMP_AFFINITY KMP_BLOCKTIME
    """,
    "drawing": """
        MUJOCO_GL MUJOCO_EGL_DEVICE_ID PYOPENGL_PLATFORM SDL_VIDEODRIVER SDL_AUDIODRIVER
        QT_QPA_PLATFORM DISPLAY WAYLAND_DISPLAY EGL_DEVICE_ID LIBGL_ALWAYS_SOFTWARE MPLBACKEND
        PYGAME_HIDE_SUPPORT_PROMPT
    """,
    "GPUs and numerics": """
        CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER CUDA_LAUNCH_BLOCKING CUDA_MODULE_LOADING CUDA_HOME
        CUBLAS_WORKSPACE_CONFIG NVIDIA_VISIBLE_DEVICES NVIDIA_TF32_OVERRIDE HIP_VISIBLE_DEVICES
        ROCR_VISIBLE_DEVICES NCCL_DEBUG NCCL_P2P_DISABLE NCCL_IB_DISABLE PYTORCH_CUDA_ALLOC_CONF
        PYTORCH_ENABLE_MPS_FALLBACK TORCH_LOGS TORCHDYNAMO_DISABLE TORCH_COMPILE_DISABLE
        TF_CPP_MIN_LOG_LEVEL TF_FORCE_GPU_ALLOW_GROWTH TF_DETERMINISTIC_OPS TF_ENABLE_ONEDNN_OPTS
        XLA_FLAGS XLA_PYTHON_CLIENT_PREALLOCATE XLA_PYTHON_CLIENT_MEM_FRACTION
        XLA_PYTHON_CLIENT_ALLOCATOR JAX_PLATFORMS JAX_PLATFORM_NAME JAX_ENABLE_X64 JAX_DISABLE_JIT
        JAX_DEBUG_NANS JAX_LOG_COMPILES JAX_TRACEBACK_FILTERING
    """,
    # Where programs and modules lie: a run that is started or replayed again needs to know.
    "interpreter and paths": """
        PYTHONHASHSEED PYTHONUNBUFFERED PYTHONFAULTHANDLER PYTHONDONTWRITEBYTECODE PYTHONUTF8
        PYTHONIOENCODING PATH PYTHONPATH LD_LIBRARY_PATH VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV
    """,
    "language, time and terminal": "TZ LANG LANGUAGE TERM NO_COLOR COLUMNS",
    "trackers and libraries": """
        WANDB_MODE WANDB_PROJECT WANDB_ENTITY WANDB_NAME WANDB_RUN_GROUP WANDB_JOB_TYPE WANDB_TAGS
        WANDB_SILENT WANDB_DISABLED WANDB_CONSOLE HF_HUB_OFFLINE TRANSFORMERS_OFFLINE
        TOKENIZERS_PARALLELISM RAY_DEDUP_LOGS LOG_LEVEL LOGLEVEL DEBUG SEED
    """,
}
PLAIN_NAMES = frozenset(" ".join(PLAIN_NAMES_BY_PURPOSE.values()).split())
PLAIN_PREFIXES = ("LC_", "CLEANRL_FASTLANE_")
_SEPARATORS = re.compile(r"[\s,]+")


class SecrecyRules(NamedTuple):
    """What people declared on top of the lists above; being secret wins."""

    secret_names: frozenset[str] = frozenset()
    plain_names: frozenset[str] = frozenset()

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> SecrecyRules:
        return cls(
            listed_names(environ.get(SECRET_NAMES_VARIABLE, "")),
            listed_names(environ.get(PLAIN_NAMES_VARIABLE, "")),
        )

    @classmethod
    def here(cls) -> SecrecyRules:
        return cls.of(os.environ)

    def for_config(self, config: Mapping[str, Any]) -> SecrecyRules:
        """With what the config of a run, as it was parsed from JSON, says of its own variables."""
        metadata = config.get("metadata")
        listed = metadata.get(PLAIN_NAMES_FIELD) if isinstance(metadata, dict) else None
        names = filter(_is_text, listed) if isinstance(listed, list) else ()
        return self._replace(plain_names=self.plain_names.union(names))

    def is_plain(self, name: str, value: Any) -> bool:
        """Whether the value may be stored."""
        if value == "":
            return True  # hides nothing
        if not isinstance(value, str) or self.is_surely_secret(name, value):
            # Not even when declared plain: what is stored by mistake cannot be taken back, and
            # a value that was kept back by mistake only has to be given again.
            return False
        is_listed = name in PLAIN_NAMES or name.startswith(PLAIN_PREFIXES)
        return is_listed or name in self.plain_names

    def is_surely_secret(self, name: str, value: str) -> bool:
        """Because the name or the value says so, or somebody did."""
        return name in self.secret_names or is_secret_name(name) or bool(url_passwords(value))

    def is_masked(self, name: str, value: str) -> bool:
        """Whether the value, which is not plain, is hidden in logs, events and error messages."""
        return self.is_surely_secret(name, value) or not is_ordinary_text(value)


def redact_config(
    config: Mapping[str, Any], run_id: str, rules: SecrecyRules | None = None
) -> dict[str, Any]:
    """A config as it is stored: references in place of the values that are not plain.

    For any parsed JSON object, such as one out of an archive; what is redacted stays as it is.
    """
    stored = copy.deepcopy(dict(config))
    environment = stored.get("environment")
    if isinstance(environment, dict):
        rules = (rules or SecrecyRules.here()).for_config(config)
        for name in secret_values(environment, rules):
            environment[name] = secret_reference(run_id, name)
    return stored


def secret_values(environment: Mapping[str, Any], rules: SecrecyRules) -> dict[str, Any]:
    """The variables `redact_config` replaces."""
    return {
        name: value
        for name, value in environment.items()
        if not rules.is_plain(name, value) and not is_reference(name, value)
    }


def secret_reference(run_id: str, name: str) -> str:
    return f"{SECRET_REFERENCE}{run_id}/{name}"


def is_reference(name: str, value: Any) -> bool:
    """Exactly what `secret_reference` makes: a value that only begins like one is a value."""
    if not isinstance(value, str) or not value.startswith(SECRET_REFERENCE):
        return False
    run_id, _, named = value.removeprefix(SECRET_REFERENCE).partition("/")
    return named == name and RUN_ID.fullmatch(run_id) is not None


def referenced_names(environment: Mapping[str, Any]) -> list[str]:
    """The variables of a stored config whose values are elsewhere, or nowhere any more."""
    return sorted(name for name, value in environment.items() if is_reference(name, value))


def listed_names(text: str) -> frozenset[str]:
    """Of a variable that lists others, separated by commas or spaces."""
    return frozenset(_SEPARATORS.split(text)) - {""}


def _is_text(value: Any) -> bool:
    return isinstance(value, str)
