"""What the FastLane tab says: how well a run is watched, and each environment by itself. Pure."""

from __future__ import annotations

from mosaic.contracts.run_record import RunRecord
from mosaic.fastlane.segment import segment_path
from mosaic.fastlane.settings import read_settings
from mosaic.gui.live.model.hud import number_text, rate_text, short_count
from mosaic.gui.live.model.situation import is_video_off
from mosaic.gui.state.live_watch import LiveFrames, LiveViewer, LiveWatch
from mosaic.gui.tabs.model import Column, Row

COLUMNS = (
    Column("Env", is_number=True, help="Slot of the environment"),
    Column("Step", is_number=True),
    Column("Episode", is_number=True),
    Column("Reward", is_number=True, help="Of its last step"),
    Column("Return", is_number=True, help="Rolling mean of its episodes"),
    Column("Rate", is_number=True, help="Steps a second"),
)
NOTHING = "–"
Fact = tuple[str, str, str]  # name, value, help
_COST_HELP = "A run renders no more often than this allows, and not at all while nobody watches"


def rows_of(frames: LiveFrames) -> list[Row]:
    rows = []
    for tile in frames.tiles:
        about = tile.metrics
        if about is None:
            continue
        cells = (
            str(tile.slot),
            short_count(about.steps),
            short_count(about.episodes),
            number_text(about.last_reward, 3),
            number_text(about.rolling_return, 1),
            rate_text(about.step_rate_hz),
        )
        help = f"{about.steps:,} steps, {about.episodes:,} episodes; process {tile.pid}"
        rows.append(Row(tile.slot, cells, help=help))
    return rows


def facts_of(record: RunRecord, watch: LiveWatch, now: float) -> list[Fact]:
    """One line each; those about watching are empty while nobody does."""
    is_watched = watch.run_id == record.run_id and watch.watcher is not LiveViewer.NOBODY
    frames = watch.frames if watch.run_id == record.run_id else LiveFrames()
    shown, made, dropped = NOTHING, NOTHING, NOTHING
    if is_watched:
        shown = f"{watch.shown_fps(now):.1f} fps"
        made = f"{watch.published_fps(now):.1f} fps"
        dropped = f"{watch.dropped:,}"
    slots = f"{len(frames.tiles)} of {frames.slot_limit}" if frames.slot_limit else NOTHING
    variables = record.config.get("environment")
    settings = read_settings(variables if isinstance(variables, dict) else {})
    return [
        ("Environments", slots, "Those with a picture, and how many the run has room for"),
        ("Shown", shown, "Pictures a second of an environment that arrive in this window"),
        ("Published", made, "Pictures a second of an environment that the run renders"),
        ("Left out", dropped, "Published, but a newer one was there before they could be shown"),
        ("Cost", f"at most {settings.budget:.1%} of its time, while watched", _COST_HELP),
        ("Segment", str(segment_path(record.run_id)), "Shared memory the frames come through"),
    ]


def connection_word(record: RunRecord, watch: LiveWatch) -> str:
    """Of `mosaic.fastlane.viewer`, or why nobody looks."""
    if record.is_over:
        return "ended"
    if watch.run_id != record.run_id or watch.watcher is LiveViewer.NOBODY:
        return "not watched"
    return watch.frames.status


def has_frames(record: RunRecord) -> bool:
    """Or had some, or may have some."""
    return not is_video_off(record)


def watching_text(record: RunRecord, watch: LiveWatch) -> str:
    """What the word means, or who it is that watches."""
    if watch.run_id != record.run_id or watch.watcher is LiveViewer.NOBODY:
        return "Nothing is rendered while nobody watches."
    if watch.frames.message:
        return f"{watch.frames.message[:1].upper()}{watch.frames.message[1:]}."
    if watch.watcher is LiveViewer.CENTRE:
        return "The centre shows it: the figures are those of the large picture."
    return "Shown here, a few times a second."


def why_no_frames(record: RunRecord) -> tuple[str, str] | None:
    """Why a run has no live frames, as a title and a sentence; None when it may have some."""
    if record.is_over:
        return (
            "The run is over",
            "Frames come live only. Its episodes can be replayed, and its clips are in Videos.",
        )
    if is_video_off(record):
        return "This run shows no frames", "Its live view was switched off when it was started."
    if not record.paths.get("run_directory"):
        return (
            "This run is on another machine",
            "Frames stay where the run is: `mosaic gui` or `mosaic frames` show them there.",
        )
    return None
