"""What a person has to see before it runs: tables of what is harmless and what is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mosaic.contracts.consent import (
    CONFIG_OF,
    Consent,
    as_one_line,
    consent_error,
    consent_for_config,
    consent_for_recording,
    consent_from_lines,
    is_granted,
    is_plain,
    names_module,
    referenced_runs,
    reproduced_run,
    requested_consent,
    running_variables,
    runs_something,
    with_package_only,
)
from mosaic.contracts.run_config import parse_run_config
from mosaic.errors import ConsentError
from tests.daemon_harness import run_document

RUN = "01JZZZZZZZZZZZZZZZZZZZZZZZ"
WORKER_COMMAND = ("python", "-m", "worker", "--config", "worker.json")
CARTPOLE = {
    "env_id": "CartPole-v1",
    "kwargs": {},
    "max_episode_steps": 500,
    "entry_point": "gymnasium.envs.classic_control.cartpole:CartPoleEnv",
}

RUNNING = """
PYTHONPATH PYTHONSTARTUP PYTHONHOME PYTHONWARNINGS PYTHONBREAKPOINT PYTHONINSPECT PYTHONUSERBASE
PYTHONPYCACHEPREFIX PYTHONEXECUTABLE PYTHONPLATLIBDIR pythonpath IPYTHONDIR JUPYTER_PATH
JUPYTER_CONFIG_DIR PERL5LIB PERL5OPT PERLLIB RUBYOPT RUBYLIB NODE_OPTIONS NODE_PATH LUA_INIT
LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT LD_DEBUG_OUTPUT DYLD_INSERT_LIBRARIES ASAN_PRELOAD GCONV_PATH
GLIBC_TUNABLES LOCPATH NLSPATH HOSTALIASES TERMINFO TERMCAP PATH CDPATH FPATH HOME TMPDIR TMP TEMP
XDG_CONFIG_HOME XDG_DATA_DIRS SHELL BASH_ENV ENV SHELLOPTS BASH_FUNC_x PS4 PROMPT_COMMAND IFS
ZDOTDIR BROWSER EDITOR VISUAL PAGER MANPAGER GIT_PAGER GIT_SSH_COMMAND GIT_EXEC_PATH
GIT_CONFIG_GLOBAL SSH_ASKPASS LESSOPEN TERMINAL HGRCPATH WANDB_EXECUTABLE WANDB__EXECUTABLE
WANDB_BASE_URL WANDB_CONFIG_DIR CC CXX CPP CFLAGS LDFLAGS XLA_FLAGS NVCC_APPEND_FLAGS CMAKE_PREFIX
TORCH_HOME TORCH_EXTENSIONS_DIR TORCHINDUCTOR_CACHE_DIR TRITON_CACHE_DIR NUMBA_CACHE_DIR
OPENSSL_CONF OPENSSL_MODULES OMP_TOOL_LIBRARIES OMP_TOOL CUDA_INJECTION64_PATH CUDA_CACHE_PATH
NVTX_INJECTION64_PATH LIBGL_DRIVERS_PATH LIBGL_ALWAYS_SOFTWARE MESA_LOADER_DRIVER_OVERRIDE
VK_ICD_FILENAMES VK_LAYER_PATH VK_INSTANCE_LAYERS OCL_ICD_VENDORS __EGL_VENDOR_LIBRARY_DIRS
_EGL_VENDOR __GLX_VENDOR_LIBRARY_NAME SDL_DYNAMIC_API QT_PLUGIN_PATH QT_QPA_PLATFORM_PLUGIN_PATH
QT_QPA_GENERIC_PLUGINS QML2_IMPORT_PATH GTK_MODULES GTK3_MODULES GTK_PATH GIO_EXTRA_MODULES
GST_PLUGIN_PATH MPLBACKEND MPLCONFIGDIR MATPLOTLIBRC MUJOCO_PLUGIN_PATH ALSA_CONFIG_PATH
PJRT_NAMES_AND_LIBRARY_PATHS PIP_INDEX_URL UV_PYTHON PYSPARK_PYTHON CLASSPATH JAVA_TOOL_OPTIONS
_JAVA_OPTIONS R_PROFILE_USER JULIA_LOAD_PATH HTTPS_PROXY https_proxy SSL_CERT_FILE
REQUESTS_CA_BUNDLE KERAS_BACKEND HF_HOME
_PYTHON_SYSCONFIGDATA_NAME TORCH_LOGS TORCH_TRACE COVERAGE_PROCESS_START COV_CORE_CONFIG TCL_LIBRARY
CUDA_HOME CUDA_ROOT CONDA_PREFIX SDL_VIDEO_GL_DRIVER SDL_OPENGL_LIBRARY SDL3_DYNAMIC_API
DBUS_SESSION_BUS_ADDRESS AT_SPI_BUS_ADDRESS FFMPEG_BINARY CHROME_BIN IMAGEIO_FREEIMAGE_LIB
INTEL_LIBITTNOTIFY64 FLEXIBLAS RDMAV_DRIVERS AWS_CONFIG_FILE AWS_PROFILE KUBECONFIG PKG_CONFIG
GOOGLE_APPLICATION_CREDENTIALS OMPI_MCA_plm_rsh_agent HYDRA_LAUNCHER_EXEC PMIX_MCA_gds MAKEFILES
LDSHARED LDCXXSHARED CCACHE_PREFIX GCC_EXEC_PREFIX XLOCALEDIR JAX_COMPILATION_CACHE_DIR
CUPY_CACHE_DIR PIPEWIRE_CONFIG_DIR PYTEST_ADDOPTS LSAN_OPTIONS MLFLOW_TRACKING_URI HF_ENDPOINT
RAY_ADDRESS MASTER_ADDR WANDB_SERVICE CUBLASLT_LOG_FILE CUDNN_LOGDEST_DBG
"""
HARMLESS = """
PYTHONHASHSEED PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONFAULTHANDLER PYTHONOPTIMIZE
OMP_NUM_THREADS MKL_NUM_THREADS OPENBLAS_NUM_THREADS NUMEXPR_NUM_THREADS CUDA_VISIBLE_DEVICES
CUDA_DEVICE_ORDER CUBLAS_WORKSPACE_CONFIG WANDB_MODE WANDB_PROJECT WANDB_ENTITY WANDB_API_KEY
MUJOCO_GL PYOPENGL_PLATFORM SDL_VIDEODRIVER QT_QPA_PLATFORM LANG LC_ALL TZ SEED EXPERIMENT
JAX_PLATFORMS TF_CPP_MIN_LOG_LEVEL TOKENIZERS_PARALLELISM DISPLAY VIRTUAL_ENV SDL_AUDIODRIVER
PYTORCH_CUDA_ALLOC_CONF TORCHDYNAMO_DISABLE NODE_AUTH_TOKEN GIT_PASSWORD UV_PUBLISH_TOKEN
"""

MODULES = [
    ("env_id", "this:CartPole-v1"),
    ("env_id", "my.package:Env-v0"),
    ("env_id", "not an identifier:Env-v0"),
    ("env_id", "a:b:CartPole-v1"),
    ("env_id", ":CartPole-v1"),
    ("env_id", ".relative:CartPole-v1"),
    ("env_id", "os:"),
    ("eval_env", "x:y"),
    ("stages.env_id", "x:1"),
    ("curriculum", "antigravity:Env-v2"),
    ("anything", "antigravity:Env-v2"),
    ("anything", "package.module:function"),
    ("callback", "./evil.py:Callback"),
]
NO_MODULES = [
    ("env_id", "CartPole-v1"),
    ("env_id", "ALE/Pong-v5"),
    ("device", "cuda:0"),
    ("notes", "see: the paper"),
    ("notes", "todo:later"),
    ("at", "10:30"),
    ("url", "https://example.org/a"),
    ("tags", "seed:3"),
    ("path", "/home/me/CartPole-v1__ppo__1__17/x"),
]

FOREIGN_ARGUMENTS: list[tuple[str, Any]] = [
    ("xml_file", "ant.xml"),
    ("xml_file", "/tmp/ant.xml"),
    ("xmlFile", "ant"),
    ("model_path", "ant"),
    ("env_id", "CartPole-v1"),
    ("env", "CartPole-v1"),
    ("entry_point", "os"),
    ("entry_point", "os:system"),
    ("command", "true"),
    ("render_mode", "human"),
    ("x", "a/b"),
    ("x", "..\\b"),
    ("x", "~root"),
    ("x", "os:system"),
    ("x", "a b"),
    ("x", "a\nb"),
    ("x", "$(id)"),
    ("x", "__import__('os')"),
    ("x", "w" * 65),
    ("x", "ant.xml"),
    ("x", "-rf"),
    ("x", ["4x4", "/etc"]),
    ("x", {"file": "word"}),
    ("x", {"deep": [{"path": "word"}]}),
    ("wrappers", ["word"]),
    ("rom_path", "pong"),
    ("url", "word"),
    ("x", object()),
    ("x", b"bytes"),
]
PLAIN_ARGUMENTS: list[tuple[str, Any]] = [
    ("gravity", -9.8),
    ("enable_wind", True),
    ("map_name", "4x4"),
    ("desc", ["SFFF", "FHFH"]),
    ("render_mode", "rgb_array"),
    ("sizes", [1, 2, [3]]),
    ("difficulty", None),
    ("obs_type", "grayscale"),
    ("version", "1.5"),
    ("nothing", ""),
    ("options", {"low": -0.1, "high": 0.1}),
]


@pytest.mark.parametrize("name", RUNNING.split())
def test_a_variable_that_runs_something_is_known(name: str) -> None:
    assert runs_something(name)


@pytest.mark.parametrize("name", HARMLESS.split())
def test_a_variable_that_runs_nothing_is_left_alone(name: str) -> None:
    assert not runs_something(name)


def test_the_variables_to_be_seen_have_their_values() -> None:
    given = {"SEED": "1", "PATH": "/x", "LD_PRELOAD": "/y.so"}
    assert running_variables(given) == {"LD_PRELOAD": "/y.so", "PATH": "/x"}


def test_of_an_address_all_but_its_password_is_shown() -> None:
    given = {"DATABASE_URL": "postgres://me:hJ8kQ2zW9x@host/db", "BROWSER": "x://a:$(touch)@b"}
    assert running_variables(given) == {
        "BROWSER": "x://a:$(touch)@b",
        "DATABASE_URL": "postgres://me:***@host/db",
    }


@pytest.mark.parametrize(("key", "text"), MODULES)
def test_a_text_that_may_name_a_module_is_known(key: str, text: str) -> None:
    assert names_module(text, key)


@pytest.mark.parametrize(("key", "text"), NO_MODULES)
def test_a_text_that_names_no_module_is_left_alone(key: str, text: str) -> None:
    assert not names_module(text, key)


@pytest.mark.parametrize(("key", "value"), FOREIGN_ARGUMENTS)
def test_an_argument_that_may_be_a_file_or_a_function_is_not_plain(key: str, value: Any) -> None:
    assert not is_plain(key, value)


@pytest.mark.parametrize(("key", "value"), PLAIN_ARGUMENTS)
def test_numbers_switches_and_short_words_are_plain(key: str, value: Any) -> None:
    assert is_plain(key, value)


def needed(**changes: Any) -> Consent | None:
    is_as_installed = changes.pop("is_as_installed", True)
    fields = changes.pop("program_fields", ())
    digest = changes.pop("file_digest", lambda _: "")
    return consent_for_config(
        parse_run_config(run_document(**changes)),
        WORKER_COMMAND,
        is_as_installed=is_as_installed,
        program_fields=fields,
        file_digest=digest,
    )


def test_a_worker_of_this_installation_needs_no_consent() -> None:
    assert needed() is None
    assert needed(config={"env_kwargs": {"gravity": 9.0}}, environment={"SEED": "1"}) is None


def test_a_program_is_shown_with_its_script_and_variables() -> None:
    asked = needed(
        is_as_installed=False,
        environment={"BROWSER": "sh -c 'x' #", "SEED": "1"},
        file_digest=lambda word: "abc" if word == "worker" else "",
    )
    assert asked is not None
    assert asked.lines == (
        "command: python -m worker --config worker.json",
        "script: worker (SHA-256 abc)",
        "variable: BROWSER=sh -c 'x' #",
    )


def test_what_is_installed_by_a_lock_from_elsewhere_is_shown() -> None:
    shown = consent_for_config(
        parse_run_config(run_document()),
        WORKER_COMMAND,
        is_as_installed=True,
        installs=["learner, 3 packages (lock ab12)"],
    )
    assert shown is not None
    assert shown.lines == ("installs: learner, 3 packages (lock ab12)",)


def test_a_run_that_is_to_be_like_another_comes_from_that_one() -> None:
    config = {"metadata": {"reproduces": RUN}}
    assert reproduced_run(config) == RUN
    assert referenced_runs(config, Path("/home/runs")) == {RUN}
    assert reproduced_run({"metadata": {"reproduces": "../x"}}) == ""
    assert reproduced_run({"metadata": [1]}) == reproduced_run({}) == ""


def test_a_field_that_names_a_program_is_shown_as_one_types_it() -> None:
    settings = {"command": ["sh", "-c", "rm -r x"], "cwd": "/a", "extras": {"tool": "/b"}}
    asked = needed(config=settings, program_fields=("command", "cwd", "extras.tool", "extras.no"))
    assert asked is not None
    assert asked.lines == ("command: sh -c 'rm -r x'", "cwd: /a", "tool: /b")


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"env_id": "this:CartPole-v1"}, "imports: this, for env_id = 'this:CartPole-v1'"),
        (
            {"extras": {"curriculum": [{"env_id": "CartPole-v1"}, {"env_id": "m:E-v0"}]}},
            "imports: m, for extras.curriculum.env_id = 'm:E-v0'",
        ),
        ({"weights": {"m:E-v0": 1}}, "imports: m, for weights = 'm:E-v0'"),
        ({"env_kwargs": {"xml_file": "/x"}}, 'argument: env_kwargs.xml_file = "/x"'),
        (
            {"extras": {"algo_params": {"env_kwargs": {"a": "os:system"}}}},
            'argument: extras.algo_params.env_kwargs.a = "os:system"',
        ),
        ({"env_kwargs": ["/x/y"]}, 'argument: env_kwargs. = ["/x/y"]'),
    ],
)
def test_what_a_setting_would_import_or_open_is_shown(settings: dict[str, Any], line: str) -> None:
    asked = needed(config=settings)
    assert asked is not None and asked.lines == (line,)


def test_another_line_is_another_digest() -> None:
    one, other = Consent(("command: a",)), Consent(("command: b",))
    assert one.digest != other.digest
    assert Consent(("a", "b")).digest != Consent(("ab",)).digest
    assert consent_from_lines([]) is None
    assert consent_from_lines(["command: a"]) == one


def test_no_line_can_look_like_two_or_hide_a_part_of_itself() -> None:
    text = as_one_line("a\nvariable: b\r\x1b[2K\u202egnp.exe\u2028\x00\ud800")
    assert text.isprintable() and "\\n" in text and "\\u202e" in text and "\\x1b" in text
    long = as_one_line("x" * 5000)
    assert len(long) < 2200 and "5,000 characters" in long
    assert as_one_line("x" * 5000) != as_one_line("x" * 4999 + "y"), (
        "what is cut off counts as well"
    )
    assert as_one_line("a\nb") != as_one_line(r"a\nb"), (
        "a consent to one of them is none to the other"
    )


@pytest.mark.parametrize(
    ("given", "is_own", "is_good"),
    [
        (None, True, True),
        (None, False, False),
        ("", True, False),
        ("", False, False),
        ("0" * 64, True, False),
        ("0" * 64, False, False),
    ],
)
def test_only_its_own_digest_is_a_consent(given: str | None, is_own: bool, is_good: bool) -> None:
    asked = Consent(("command: a",))
    assert is_granted(asked, given, is_own=is_own) is is_good
    assert is_granted(asked, asked.digest, is_own=is_own)
    assert is_granted(None, given, is_own=is_own)


def test_the_error_says_what_to_confirm_and_how() -> None:
    asked = Consent(("command: a",))
    error = consent_error(asked, "", "The config")
    assert requested_consent(error) == asked
    assert "--yes" in error.hint and "consent=" in error.hint
    assert "changed" in consent_error(asked, "old", "The config").message
    assert requested_consent(ConsentError("Deleting needs a confirmation")) is None


HOSTILE_RECORDINGS: list[dict[str, Any]] = [
    {**CARTPOLE, "entry_point": "os:system"},
    {**CARTPOLE, "entry_point": "subprocess:run"},
    {**CARTPOLE, "entry_point": "gymnasium_evil.envs:Env"},
    {**CARTPOLE, "entry_point": ".gymnasium:Env"},
    {**CARTPOLE, "entry_point": ["os:system"]},
    {**CARTPOLE, "entry_point": {"a": 1}},
    {**CARTPOLE, "entry_point": "antigravity"},
    {**CARTPOLE, "env_id": "this:CartPole-v1"},
    {**CARTPOLE, "env_id": ["this:CartPole-v1"]},
    {**CARTPOLE, "kwargs": {"xml_file": "/x"}},
    {**CARTPOLE, "kwargs": {"env_id": "CartPole-v1"}},
    {**CARTPOLE, "kwargs": {"make_kwargs": {"path": "x"}}},
    {**CARTPOLE, "kwargs": ["/x"]},
    {**CARTPOLE, "kwargs": "os:system"},
    {**CARTPOLE, "kwargs": {"render_mode": "human"}},
    {"env_id": "m:E-v0", "policy": "random"},
    {"env_id": "E-v0", "env_kwargs": {"loader": "x"}},
]


@pytest.mark.parametrize("settings", HOSTILE_RECORDINGS)
def test_a_recording_that_would_run_something_is_shown(settings: dict[str, Any]) -> None:
    asked = consent_for_recording(settings, "/venv/bin/python", ["/code"])
    assert asked is not None
    assert asked.lines[:2] == ("interpreter: /venv/bin/python", "folder: /code")
    assert len(asked.lines) > 3, "and what it is that needs a look"


def test_a_recording_of_a_known_environment_needs_no_consent() -> None:
    assert consent_for_recording(CARTPOLE, "/evil/python", ["/evil"]) is None
    game = {**CARTPOLE, "env_id": "ALE/Pong-v5", "entry_point": "ale_py.env:AtariEnv"}
    assert consent_for_recording(game, "", []) is None
    assert consent_for_recording(CARTPOLE, "", [], {"low": 0.1}) is None
    assert consent_for_recording(CARTPOLE, "", [], {"state_file": "x"}) is not None


def test_a_known_environment_is_made_without_the_function_its_recording_names() -> None:
    assert with_package_only(CARTPOLE)["entry_point"] == "gymnasium"
    assert with_package_only({**CARTPOLE, "entry_point": ""})["entry_point"] == ""
    assert with_package_only({"env_id": "CartPole-v1"}) == {"env_id": "CartPole-v1"}


@pytest.mark.parametrize(
    "config",
    [
        {"metadata": {CONFIG_OF: RUN}},
        {"metadata": {"lineage": {"parent_run": RUN}}},
        {"metadata": {"worker": {"config": {"policy_path": f"/home/runs/{RUN}/a.model"}}}},
        {"arguments": [f"/elsewhere/../home/runs/{RUN}/x"]},
        {"environment": {"X": f"/home/runs/{RUN}"}},
    ],
)
def test_a_config_says_from_which_run_it_comes(config: dict[str, Any]) -> None:
    assert referenced_runs(config, Path("/home/runs")) == {RUN}


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"metadata": None},
        {"metadata": {CONFIG_OF: 3, "lineage": "x"}},
        {"metadata": {CONFIG_OF: "../../etc"}},
        {"run_name": RUN},
    ],
)
def test_a_config_that_comes_from_no_run_names_none(config: dict[str, Any]) -> None:
    assert referenced_runs(config, Path("/home/runs")) == set()
