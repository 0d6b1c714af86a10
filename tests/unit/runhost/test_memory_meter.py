"""Where the run's control group counts memory, that is what counts."""

from __future__ import annotations

from pathlib import Path

from mosaic.runhost.control_groups import ControlGroups
from mosaic.runhost.run_processes import MemoryMeter

MB = 1_048_576


def test_the_control_group_is_believed_and_its_highest_count_is_kept(tmp_path: Path) -> None:
    meter = MemoryMeter(ControlGroups([str(tmp_path)]), limit_mb=100)
    for held, cached in ((300, 20), (250, 240)):
        (tmp_path / "memory.current").write_text(f"{held * MB}\n")
        (tmp_path / "memory.stat").write_text(f"anon 0\ninactive_file {cached * MB}\n")
        # Nobody asks these processes: there are none with such numbers.
        assert meter.used_mb({2**30, 2**30 + 1}) == held - cached
    assert meter.peak_mb == 280
