"""What a person has to see before a run starts; looks at the scripts it names."""

from __future__ import annotations

import hashlib
from pathlib import Path

from mosaic.contracts.consent import Consent, needed_for_config
from mosaic.contracts.run_config import TrainRunConfig
from mosaic.daemon.launch.command import LaunchCommand

# Scripts are small; what is larger, or compiled, is known by its name alone.
_LARGEST_SCRIPT = 16 * 2**20
_COMPILED = b"\x7fELF"


def consent_for(config: TrainRunConfig, command: LaunchCommand) -> Consent | None:
    folder = config.worker.config.get("cwd")

    def file_digest(word: str) -> str:
        return _script_digest(Path(str(folder or "/")) / word)

    return needed_for_config(
        config,
        command.argv("worker-<RUN>-<slot>.json"),
        is_as_installed=command.is_as_installed,
        program_fields=command.program_fields,
        file_digest=file_digest,
    )


def _script_digest(path: Path) -> str:
    """Empty for what is no script."""
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST_SCRIPT:
            return ""
        content = path.read_bytes()
    except (OSError, ValueError):
        return ""
    return "" if content.startswith(_COMPILED) else hashlib.sha256(content).hexdigest()
