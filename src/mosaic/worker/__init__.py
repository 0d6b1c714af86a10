"""The SDK of a worker: config, events, control and life cycle. Standard library only."""

from mosaic.contracts.capabilities import (
    Lane,
    ReadinessCheck,
    WorkerCapabilities,
    WorkerMetadata,
)
from mosaic.contracts.manifest import AgentsArtifact, TensorBoardArtifact, WandbArtifact
from mosaic.errors import ConfigError, DependencyError, WorkerError
from mosaic.worker.analytics import write_manifest
from mosaic.worker.command_line import Shortcut
from mosaic.worker.config import build_config, config_schema, load_config_file, option
from mosaic.worker.evaluation_options import EvaluationOptions
from mosaic.worker.harness import worker_main
from mosaic.worker.json_text import JsonText, to_json
from mosaic.worker.run import Run

__all__ = [
    "AgentsArtifact",
    "ConfigError",
    "DependencyError",
    "EvaluationOptions",
    "JsonText",
    "Lane",
    "ReadinessCheck",
    "Run",
    "Shortcut",
    "TensorBoardArtifact",
    "WandbArtifact",
    "WorkerCapabilities",
    "WorkerError",
    "WorkerMetadata",
    "build_config",
    "config_schema",
    "load_config_file",
    "option",
    "to_json",
    "worker_main",
    "write_manifest",
]
