"""The worker "script": runs any command unmodified and reports what it is seen to do."""

from mosaic.watch.config import ScriptConfig
from mosaic.worker import Lane, WorkerCapabilities, WorkerMetadata, config_schema

__version__ = "0.1.0"


def get_worker_metadata() -> WorkerCapabilities:
    """Entry point in the group `mosaic.workers`."""
    return WorkerCapabilities(
        worker_type="script",
        supported_paradigms=("sequential", "parallel"),
        supports_pause_resume=True,
        estimated_memory_mb=2048,
        lane=Lane.ANALYTICS,
        metadata=WorkerMetadata(
            name="Any script",
            version=__version__,
            description="Runs a command unmodified: its output, metrics, frames and files.",
            license="MIT",
        ),
        config_schema=config_schema(ScriptConfig),
        replay_maker="mosaic.injection.replay:make_environment",
        runs_commands=True,
        program_fields=("command", "cwd", "env_python"),
    )
