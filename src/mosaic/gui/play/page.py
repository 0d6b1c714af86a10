"""PlayPage: a person, a policy, or both in turn play in an environment that lives in a worker."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QStackedLayout, QVBoxLayout, QWidget

from mosaic.contracts.bundles import InstallRequest, VenvState
from mosaic.front.human import size
from mosaic.gui.forms.model.fields import sentence
from mosaic.gui.play.game_panel import GamePanel
from mosaic.gui.play.model.plan import Alternative, Refusal, plan_play
from mosaic.gui.play.session import Phase, PlaySession
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.notices import Notice, Severity
from mosaic.gui.state.targets import Mode, PlayTarget, ReplayTarget
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import label, with_role
from mosaic.gui.widgets.stage_page import StagePage

_ICON = QSize(40, 40)
_WIDTH = 400

Choice = tuple[str, Callable[[], None]]


class PlayMessage(QWidget):
    """Why nothing is played right now, and what to do about it."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme, self._icon = theme, "gamepad-variant-outline"
        self._picture = QLabel()
        self.title, self.text = label("", "section"), label("", "muted")
        self.text.setWordWrap(True)
        self.text.setFixedWidth(_WIDTH)
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.first = with_role(QPushButton(), "primary")
        self.first.setObjectName("play-first-choice")
        self.second = QPushButton()
        self.second.setObjectName("play-second-choice")
        self._choices: tuple[Choice, ...] = ()
        self.first.clicked.connect(self._on_first)
        self.second.clicked.connect(self._on_second)
        layout = QVBoxLayout(self)
        layout.setSpacing(8)
        layout.addStretch(1)
        centre = Qt.AlignmentFlag.AlignHCenter
        for widget in (self._picture, self.title, self.text):
            widget.setAlignment(Qt.AlignmentFlag.AlignCenter)
            layout.addWidget(widget, 0, centre)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(self.first)
        row.addWidget(self.second)
        row.addStretch(1)
        layout.addSpacing(4)
        layout.addLayout(row)
        layout.addStretch(1)
        theme.changed.connect(self._draw)
        self._draw()

    def show_message(
        self,
        title: str,
        text: str = "",
        *choices: Choice,
        icon: str = "gamepad-variant-outline",
    ) -> None:
        """At most two choices; the first one is the likely one."""
        self._icon, self._choices = icon, choices
        self.title.setText(title)
        self.text.setText(text)
        self.text.setVisible(bool(text))
        # A layout that centres a label does not ask how high its lines are.
        self.text.setMinimumHeight(0)
        self.text.setMinimumHeight(max(0, self.text.heightForWidth(_WIDTH)))
        for place, button in enumerate((self.first, self.second)):
            button.setVisible(place < len(choices))
            if place < len(choices):
                button.setText(choices[place][0])
        self._draw()

    def _on_first(self) -> None:
        self._choices[0][1]()

    def _on_second(self) -> None:
        self._choices[1][1]()

    def _draw(self) -> None:
        icon = self._theme.icon(self._icon, self._theme.palette.muted)
        self._picture.setPixmap(icon.pixmap(_ICON))


class PlayPage(StagePage):
    """Holds on to the session it has until the next one is ready."""

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self._workbench = workbench
        self._target: PlayTarget | None = None
        self.session: PlaySession | None = None
        self._next: PlaySession | None = None  # being started
        self._last_run = ""
        self._is_waiting_for_workers = False
        self.message = PlayMessage(workbench.theme)
        self.game = GamePanel(workbench)
        self._layout = QStackedLayout(self)
        self._layout.addWidget(self.message)
        self._layout.addWidget(self.game)
        self.game.ended.connect(self._on_ended)
        self._installing = ""  # the bundle that the game waits for
        workbench.state.bundles.changed.connect(self._on_bundles_changed)
        workbench.state.workers_changed.connect(self._on_workers_changed)

    def open(self) -> None:
        target = self._workbench.state.play
        if target is None:
            self._show_nothing()
        elif target is not self._target:
            self._begin(target)
        elif self.session is not None:
            self.session.show()
            self.game.picture.take_focus()

    def leave(self) -> None:
        self._is_waiting_for_workers = False
        if self._installing:
            self._installing, self._target = "", None  # whoever comes back is asked again
        self._drop_next()
        self.game.picture.keys.put_away()
        if self.session is None:
            return
        if self.session.is_kept:
            self.game.release_keys()
            self.session.hide()
            return
        run_id, has_episodes = self.session.run_id, self.game.has_episodes
        self._end()
        self._show_end("The session has ended.", has_episodes=has_episodes)
        if not has_episodes:
            return
        self._workbench.state.say(
            Notice(
                "Session ended and recorded",
                action=lambda: self._workbench.state.show_replay(ReplayTarget(run_id)),
                action_text="Replay",
            )
        )

    # Beginning

    def _begin(self, target: PlayTarget) -> None:
        self._target, self._installing = target, ""
        state = self._workbench.state
        self._is_waiting_for_workers = not state.workers
        if self._is_waiting_for_workers:
            self._show_starting("Waiting for the daemon…")
            return
        plan = plan_play(target, state.workers, state.environment(target.env_id))
        if isinstance(plan, Refusal):
            self._refuse(plan)
            return
        self._drop_next()
        session = PlaySession(self._workbench, plan, self)
        session.started.connect(self._on_started)
        session.ready.connect(self._on_ready)
        session.over.connect(self._on_over)
        self._next = session
        self._show_starting(f"Starting {target.env_id}…")
        session.start()

    def _on_workers_changed(self) -> None:
        if self._is_waiting_for_workers and self._target is not None:
            self._begin(self._target)

    def _on_started(self, session: PlaySession) -> None:
        if self.session is None:
            self._workbench.state.select([session.run_id])

    def _on_ready(self, session: PlaySession) -> None:
        if session is not self._next:
            return
        self._next = None
        self._end()
        self.session = session
        self._workbench.state.select([session.run_id])
        self._layout.setCurrentWidget(self.game)
        self.game.play(session)

    # Ending

    def _on_ended(self) -> None:
        has_episodes = self.game.has_episodes
        self._end()
        told = "Its episodes are recorded: they can be replayed."
        self._show_end(told if has_episodes else "Nothing was played.", has_episodes=has_episodes)

    def _on_over(self, session: PlaySession, sentence: str) -> None:
        if session is self._next:
            self._next = None
            session.deleteLater()
            if self.session is not None:
                # What is played continues, as if nobody had asked.
                self._target = self.session.plan.target
                self._workbench.state.play = self._target
                self._workbench.state.say(Notice(sentence, Severity.BAD, seconds=0))
                return
            if session.lacking is not None:
                self._offer_install(session.lacking)
                return
            self._last_run = session.run_id
            self._show_end(sentence, is_failure=True)
        elif session is self.session:
            has_episodes = self.game.has_episodes
            self._end()
            self._show_end(sentence, has_episodes=has_episodes)

    def _end(self) -> None:
        if self.session is None:
            return
        session, self.session = self.session, None
        self._last_run = session.run_id
        self.game.stop()
        session.end()
        session.deleteLater()

    def _drop_next(self) -> None:
        if self._next is not None:
            session, self._next = self._next, None
            session.end()
            if session.run_id:
                session.deleteLater()

    # What has to be installed first

    def _offer_install(self, request: InstallRequest) -> None:
        title = self._title_of(request.name)
        fetched = f" ({size(request.most_bytes)})" if request.most_bytes else ""
        self._show(
            "Not installed yet",
            f"This game needs {title}{fetched}.",
            ("Install and play", lambda: self._install(request)),
            self._details_of(request.name),
            icon="package-variant-closed",
        )

    def _install(self, request: InstallRequest) -> None:
        self._installing = request.name
        self._workbench.bundles.install(request)
        self._on_bundles_changed()

    def _on_bundles_changed(self) -> None:
        name, bundles = self._installing, self._workbench.state.bundles
        info = bundles.info(name) if name else None
        if info is None or self.session is not None or self._next is not None:
            return
        if info.is_usable:
            self._start_again()
        elif (failure := bundles.failure(name)) is not None:
            self._installing = ""
            hint = f" {sentence(failure.hint)}." if failure.hint else ""
            choice = ("Start again", self._start_again)
            text = f"{sentence(failure.message).rstrip('.')}.{hint}"
            self._show("It was not installed", text, choice, icon="alert-circle-outline")
        elif info.state is VenvState.INSTALLING:
            share = f": {info.progress.percent}" if info.progress is not None else ""
            self._show(
                "Installing what it needs",
                f"{self._title_of(name)}{share}\nThe game starts by itself when that is there.",
                self._details_of(name),
                icon="progress-download",
            )
        elif name not in bundles.installing:
            self._installing = ""  # canceled
            self._show_end("What it needs was not installed.", is_failure=True)

    def _title_of(self, name: str) -> str:
        info = self._workbench.state.bundles.info(name)
        return info.title if info is not None and info.title else name

    def _details_of(self, name: str) -> Choice:
        return "Show the bundle", lambda: self._workbench.state.show_bundles(name)

    # What is shown while nothing is played

    def _show_starting(self, text: str) -> None:
        if self.session is None:
            self._show(text, "")

    def _show_nothing(self) -> None:
        env_id = self._workbench.state.env_id
        self._show(
            "Play an environment yourself",
            "Or let a trained policy play, and take over with a key.",
            (f"Play {env_id}", self._play_chosen),
        )

    def _show_end(
        self, sentence: str, *, has_episodes: bool = False, is_failure: bool = False
    ) -> None:
        choices: list[Choice] = [("Start again", self._start_again)]
        if has_episodes:
            choices.append(("Replay", self._replay))
        title = "It could not be started" if is_failure else "Session over"
        icon = "alert-circle-outline" if is_failure else "flag-checkered"
        self._show(title, sentence, *choices, icon=icon)

    def _refuse(self, refusal: Refusal) -> None:
        if self.session is not None:
            self._target = self.session.plan.target
            text = f"{refusal.title}. {refusal.text}"
            self._workbench.state.say(Notice(text, Severity.BAD, seconds=0))
            return
        action = {
            Alternative.CHOOSE_POLICY: self._choose_policy,
            Alternative.PLAY_ALONE: self._play_alone,
        }
        choices = [(refusal.button, action[refusal.alternative])] if refusal.alternative else []
        self._show(refusal.title, refusal.text, *choices, icon="keyboard-off-outline")

    def _show(
        self, title: str, text: str, *choices: Choice, icon: str = "gamepad-variant-outline"
    ) -> None:
        self.message.show_message(title, text, *choices, icon=icon)
        self._layout.setCurrentWidget(self.message)

    # What can be chosen

    def _start_again(self) -> None:
        if self._target is not None:
            self._begin(self._target)

    def _replay(self) -> None:
        self._workbench.state.show_replay(ReplayTarget(self._last_run))

    def _play_chosen(self) -> None:
        state = self._workbench.state
        state.show_play(PlayTarget(state.env_id, Mode.HUMAN))

    def _play_alone(self) -> None:
        if self._target is not None:
            target = PlayTarget(self._target.env_id, Mode.HUMAN, seed=self._target.seed)
            self._workbench.state.show_play(target)

    def _choose_policy(self) -> None:
        state = self._workbench.state
        if self._target is not None:
            state.choose_environment(self._target.env_id)
        state.set_mode(Mode.AGENT)
        state.ask_tab("checkpoints")

    @property
    def is_playing(self) -> bool:
        return self.session is not None and self.session.phase is Phase.PLAYING
