"""VideosTab: the videos of a run, played where they are listed."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QIcon, QPixmap
from PySide6.QtWidgets import (
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from mosaic.contracts.run_record import RunRecord
from mosaic.errors import DependencyError, MosaicError
from mosaic.gui.services.async_bridge import Task
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.tabs.desktop import open_file
from mosaic.gui.tabs.run_tab import TabPage
from mosaic.gui.videos.model import (
    THUMBNAIL_WIDTH,
    VideoFile,
    VideoProbe,
    caption,
    list_videos,
    probe,
)
from mosaic.gui.videos.player import VideoPlayer
from mosaic.gui.widgets.pictures import to_image

_THUMBNAIL = QSize(THUMBNAIL_WIDTH, 64)
_PLACE = int(Qt.ItemDataRole.UserRole)


class VideosTab(TabPage):
    def __init__(self, workbench: Workbench) -> None:
        content = QWidget()
        super().__init__(workbench, "filmstrip", content)
        self._record: RunRecord | None = None
        self._listed: tuple[str, ...] = ()  # of the manifest, as shown or asked for
        self._listing: Task | None = None
        self._videos: dict[str, VideoFile] = {}
        self._unprobed: list[VideoFile] = []
        self.player = VideoPlayer(workbench)
        self.player.failed.connect(self._on_player_failed)
        self.list = QListWidget()
        self.list.setAccessibleName("Videos of the run")
        self.list.setIconSize(_THUMBNAIL)
        self.list.setWordWrap(True)
        self.list.setSpacing(2)
        self.list.currentItemChanged.connect(self._on_current)
        self.list.itemActivated.connect(self._on_activated)
        self.list.itemClicked.connect(self._on_activated)
        self.open_button = QPushButton("Open externally")
        self.open_button.clicked.connect(self._on_open)
        self.folder_button = QPushButton("Show in folder")
        self.folder_button.clicked.connect(self._on_folder)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addWidget(self.open_button)
        buttons.addWidget(self.folder_button)
        buttons.addStretch(1)
        split = QSplitter(Qt.Orientation.Vertical)
        split.setChildrenCollapsible(False)
        split.addWidget(self.player)
        split.addWidget(self.list)
        split.setStretchFactor(0, 3)
        split.setStretchFactor(1, 2)
        layout = QVBoxLayout(content)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(split, 1)
        layout.addLayout(buttons)
        self.say("Looking for videos…")

    def show_run(self, record: RunRecord) -> None:
        is_other = self._record is None or self._record.run_id != record.run_id
        self._record = record
        if is_other:
            self._forget()
        listed = tuple(map(str, record.manifest.get("videos") or ()))
        if self.is_active and listed != self._listed:
            self._list(listed)
        if not listed:
            self._say_none()

    def set_active(self, is_active: bool) -> None:
        self.is_active = is_active
        if is_active and self._record is not None:
            self.show_run(self._record)
            if not self.player.is_open:
                self._show(self._current(), is_played=False)
            self._probe_next()
        if not is_active:
            self._stop_listing()
            self.cancel_tasks()
            self.player.stop()

    def close_tab(self) -> None:
        self.player.close_video()

    def _forget(self) -> None:
        self._stop_listing()
        self.cancel_tasks()
        self.player.open_video(None)
        self._listed, self._videos, self._unprobed = (), {}, []
        self.list.clear()
        self.banner.show_text("")
        self.say("Looking for videos…")

    def _say_none(self) -> None:
        is_over = self._record is not None and self._record.is_over
        if is_over:
            self.say("No videos were recorded", "The run ended before the first one was whole.")
        else:
            self.say("No videos yet", "The run records some: each appears when its episode ends.")

    def _list(self, listed: tuple[str, ...]) -> None:
        record = self._record
        if record is None or not listed:
            return
        self._stop_listing()
        self._listed = listed
        self._listing = self.workbench.bridge.work(
            lambda: list_videos(record), self._on_listed, self._on_list_failed
        )

    def _stop_listing(self) -> None:
        """What was asked for and has not come is asked for again."""
        if self._listing is not None:
            self._listing.cancel()
            self._listing, self._listed = None, ()

    def _on_listed(self, videos: list[VideoFile]) -> None:
        self._listing = None
        if not videos:
            self.say("The videos are gone", "Their files were moved or deleted.")
            return
        current = self._current()
        known = self._videos
        self._videos = {str(video.path): video for video in videos}
        left = set(self._unprobed)
        self._unprobed = [
            video for video in videos if video in left or known.get(str(video.path)) != video
        ]
        items = {item.data(_PLACE): item for item in self._items()}
        icons = {place: (item.icon(), item.text()) for place, item in items.items()}
        self.list.blockSignals(True)
        self.list.clear()
        for place, video in self._videos.items():
            icon, text = icons.get(place, (QIcon(), f"{video.title}\n{caption(video, None)}"))
            item = QListWidgetItem(icon, text)
            item.setData(_PLACE, place)
            item.setToolTip(place)
            item.setSizeHint(QSize(0, _THUMBNAIL.height() + 8))
            self.list.addItem(item)
        index = list(self._videos).index(str(current)) if str(current) in self._videos else 0
        self.list.setCurrentRow(index)
        self.list.blockSignals(False)
        self.show_content()
        if current is None:
            self._show(self._current(), is_played=False)
        self._probe_next()

    def _on_list_failed(self, error: MosaicError) -> None:
        self._listing, self._listed = None, ()
        self.say_error(error)

    # Pictures for the list, one file at a time

    def _probe_next(self) -> None:
        if self.is_active and self._unprobed:
            video = self._unprobed[0]
            self.keep(
                self.workbench.bridge.work(
                    lambda: probe(video.path),
                    lambda found: self._on_probed(video, found),
                    lambda error: self._on_probe_failed(video, error),
                )
            )

    def _on_probed(self, video: VideoFile, found: VideoProbe) -> None:
        item = self._item(video)
        if item is not None:
            item.setIcon(_thumbnail(found))
            item.setText(f"{video.title}\n{caption(video, found)}")
        self._probed(video)

    def _on_probe_failed(self, video: VideoFile, error: MosaicError) -> None:
        if isinstance(error, DependencyError):
            self._unprobed.clear()
            self._on_player_failed(error)
            return
        item = self._item(video)
        if item is not None:
            item.setIcon(self.workbench.theme.icon("file-alert-outline"))
            item.setText(f"{video.title}\n{caption(video, None, 'Damaged, or not finished yet')}")
        self._probed(video)

    def _probed(self, video: VideoFile) -> None:
        self._unprobed = [one for one in self._unprobed if one != video]
        self._probe_next()

    def _items(self) -> list[QListWidgetItem]:
        return [self.list.item(row) for row in range(self.list.count())]

    def _item(self, video: VideoFile) -> QListWidgetItem | None:
        place = str(video.path)
        return next((item for item in self._items() if item.data(_PLACE) == place), None)

    # What is chosen

    def _current(self) -> Path | None:
        item = self.list.currentItem()
        return Path(str(item.data(_PLACE))) if item is not None else None

    def _on_current(self) -> None:
        self._show(self._current(), is_played=False)

    def _on_activated(self) -> None:
        """A click or Enter: whoever does that wants to see it move."""
        self._show(self._current(), is_played=True)

    def _show(self, path: Path | None, *, is_played: bool) -> None:
        self.banner.show_text("")
        self.player.open_video(path, is_played=is_played)

    def _on_player_failed(self, error: MosaicError) -> None:
        hint = f" {error.hint[:1].upper()}{error.hint[1:]}." if error.hint else ""
        self.banner.show_text(f"{error.message}.{hint}")

    def _on_open(self) -> None:
        if (path := self._current()) is not None:
            open_file(self.workbench, path)

    def _on_folder(self) -> None:
        if (path := self._current()) is not None:
            open_file(self.workbench, path.parent)


def _thumbnail(found: VideoProbe) -> QIcon:
    """The same when it is selected: Qt would tint it."""
    pixmap = QPixmap.fromImage(to_image(found.thumbnail))
    icon = QIcon(pixmap)
    icon.addPixmap(pixmap, QIcon.Mode.Selected)
    return icon
