"""LaunchPanel: the left panel: who acts, where, and the form that starts it."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QScrollArea, QVBoxLayout, QWidget

from mosaic.contracts.options import option_text
from mosaic.errors import MosaicError
from mosaic.gui.forms.schema_form import SchemaForm
from mosaic.gui.launch.bundle_card import BundleOfferCard
from mosaic.gui.launch.bundle_check import BundleCheck
from mosaic.gui.launch.environment_picker import EnvironmentPicker
from mosaic.gui.launch.footer import LaunchFooter, LaunchMenu, PresetRow
from mosaic.gui.launch.launcher import Launcher
from mosaic.gui.launch.model.bundle_offer import BundleOffer
from mosaic.gui.launch.model.field_lookup import error_sentence, field_of_error
from mosaic.gui.launch.model.launch_form import LaunchForm, Problem
from mosaic.gui.launch.model.launch_state import LaunchState, key_rows, play_problem
from mosaic.gui.launch.model.starting_point import CHIP
from mosaic.gui.launch.policy_picker import PolicyPicker
from mosaic.gui.launch.previews import AbsentCard, DryRunCard, PlayCard, ScriptPreview
from mosaic.gui.launch.roster_view import RosterView
from mosaic.gui.launch.source_reading import SourceReading
from mosaic.gui.launch.starting_point_check import StartingPointCheck
from mosaic.gui.plans.model.target import PlanTarget
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.notices import Notice
from mosaic.gui.state.targets import FormTarget, Mode, Operation, PolicyTarget
from mosaic.gui.state.workbench_state import Connection
from mosaic.gui.widgets.choosers import Segmented
from mosaic.gui.widgets.roles import with_role
from mosaic.wire.answers import Submission

if TYPE_CHECKING:
    from mosaic.gui.plans.editor import PlanEditor

_MODES = [(Mode.HUMAN, "Human"), (Mode.HYBRID, "Hybrid"), (Mode.AGENT, "Agent")]
_NEW, _TRAINED = "new", "trained"
_PLAY = {Mode.HUMAN: "Play", Mode.HYBRID: "Play together"}
LAUNCH_KEYS, AGAIN_KEYS = "Ctrl+Return", "Ctrl+Shift+Return"
_MARGIN, _GAP = 12, 12
_ROOM_FOR_ALL = 480  # with less, the roster would leave nothing to the form


class LaunchPanel(QWidget):
    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        with_role(self, "panel")
        self._workbench, self._state = workbench, workbench.state
        session = workbench.session
        self.launch = LaunchState(workbench.state, session.part("launch"))
        session.keep("launch", self.launch.values)
        self.launcher = Launcher(workbench)
        self._starting_point = StartingPointCheck(workbench, self.launch, self)
        self._bundle_check = BundleCheck(workbench, self.launch, self)
        self._source_reading = SourceReading(workbench, self.launch, self)
        self._forms: dict[int, SchemaForm] = {}
        self._shown: SchemaForm | None = None
        self._plan_editor: PlanEditor | None = None  # made when somebody wants it
        self._error = ""  # of the last attempt, until something changes
        # The chip has the sentence and the cross: whoever changed something above sees both.
        self._starting_point.refused.connect(
            lambda: QTimer.singleShot(0, self, self._reveal_subject)
        )
        self._make_parts()
        self._arrange()
        self._connect()
        self._on_mode_changed(self._state.mode.value)

    # What it is made of

    def _make_parts(self) -> None:
        theme = self._workbench.theme
        self.modes = Segmented([(mode.value, text) for mode, text in _MODES])
        self.modes.setObjectName("modes")
        self.roster = RosterView(theme)
        self.operations = Segmented([(_NEW, "Train new"), (_TRAINED, "Use trained")])
        self.operations.setObjectName("operations")
        self.uses = Segmented(
            [(Operation.EVALUATE.value, "Evaluate"), (Operation.RESUME.value, "Resume")]
        )
        self.uses.setObjectName("uses")
        self.policies = PolicyPicker(self._workbench, self._policy_worker)
        self.environment = EnvironmentPicker(self._state, lambda: self.launch.tells_packages)
        self.keys = PlayCard()
        self.absent = AbsentCard()
        self.preview = ScriptPreview(self._workbench)
        self.dry_run = DryRunCard(theme)
        self.preset_row = PresetRow()
        self.bundle_card = BundleOfferCard(theme)
        self.footer = LaunchFooter(theme)
        self._menu = LaunchMenu(self.footer.menu, self.launcher)

    def _arrange(self) -> None:
        inside = QWidget()
        self._content = QVBoxLayout(inside)
        self._content.setContentsMargins(_MARGIN, 4, _MARGIN, _MARGIN)
        self._content.setSpacing(_GAP)
        above: list[QWidget] = [self.roster, self.operations, self.uses]
        above += [self.policies, self.environment]
        below: list[QWidget] = [self.absent, self.keys, self.preview, self.dry_run]
        self._form_place = len(above)
        for part in above + below:
            self._content.addWidget(part)
        self._content.addStretch(1)
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._scroll.setWidget(inside)
        self._scroll.verticalScrollBar().rangeChanged.connect(self._on_range_changed)
        top = QVBoxLayout()
        top.setContentsMargins(_MARGIN, _MARGIN, _MARGIN, 8)
        top.addWidget(self.modes)
        bottom = QVBoxLayout()
        bottom.setContentsMargins(_MARGIN, 0, _MARGIN, 0)
        bottom.setSpacing(8)
        bottom.addWidget(self.preset_row)
        bottom.addWidget(self.bundle_card)
        bottom.addWidget(self.bundle_card.gap)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(1, 1, 1, 1)
        layout.setSpacing(0)
        layout.addLayout(top)
        layout.addWidget(self._scroll, 1)
        layout.addLayout(bottom)
        layout.addWidget(self.footer)

    def _connect(self) -> None:
        state, launch, launcher = self._state, self.launch, self.launcher
        self.modes.chosen.connect(self._on_mode_chosen)
        self.roster.chosen.connect(self._on_entry_chosen)
        self.operations.chosen.connect(self._on_operation_chosen)
        self.uses.chosen.connect(self._on_use_chosen)
        self.policies.chosen.connect(self._on_policy_chosen)
        self.absent.asked_again.connect(self._on_look_again)
        self.preset_row.named.connect(self._on_preset_named)
        self.footer.launched.connect(self.start)
        self.footer.menu_opening.connect(self._on_menu_opening)
        self._menu.dry_run_asked.connect(self._on_dry_run)
        self._menu.save_asked.connect(self.preset_row.ask)
        self._menu.preset_chosen.connect(self._on_preset_chosen)
        self._menu.reset_asked.connect(self._on_reset)
        launcher.busy_changed.connect(self._on_busy_changed)
        launcher.failed.connect(self._on_failed)
        launcher.checked.connect(self._on_checked)
        launcher.started.connect(self._on_started)
        self._bundle_check.changed.connect(self._show_status)
        self.bundle_card.agreed.connect(self._on_install_agreed)
        self.bundle_card.details_asked.connect(self._state.show_bundles)
        state.mode_changed.connect(self._on_mode_changed)
        state.form_asked.connect(self._on_form_asked)
        state.environment_changed.connect(self._on_environment_changed)
        launch.roster_changed.connect(self._show_roster)
        launch.form_changed.connect(self._show_form)
        launch.refreshed.connect(self._show_status)
        commands = self._workbench.commands
        commands.add(
            "run.launch", "Start", self.start, menu="Run", shortcut=LAUNCH_KEYS, icon="play"
        )
        commands.add(
            "run.train_again",
            "Train again",
            launcher.train_again,
            menu="Run",
            shortcut=AGAIN_KEYS,
            icon="replay",
        )

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.roster.fold(event.size().height() < _ROOM_FOR_ALL)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._starting_point.stop()
        self._bundle_check.stop()
        self._source_reading.stop()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._bundle_check.look()
        self._source_reading.look()

    @property
    def form(self) -> LaunchForm:
        return self.launch.form

    @property
    def schema_form(self) -> SchemaForm | None:
        """The one that is shown; None while somebody plays."""
        return self._shown

    # Starting

    def start(self) -> None:
        """What the button does."""
        if self._problem() is not None or self.launcher.is_busy:
            self._show_status()
            return
        if self._offer is not None:
            self.bundle_card.take_keyboard()  # nobody has agreed yet
            return
        if self._is_agent:
            self._error = ""
            self.launcher.launch(self.form)
            return
        target = self.launch.play_target()
        if target is not None:
            self._state.show_play(target)

    @property
    def _offer(self) -> BundleOffer | None:
        """Of what the form's run lacks."""
        return self._bundle_check.offer if self._is_agent else None

    def _on_install_agreed(self, most_bytes: int) -> None:
        if self._problem() is None and not self.launcher.is_busy:
            self._error = ""
            self.launcher.launch(self.form, most_bytes)

    def _on_dry_run(self) -> None:
        if self._problem() is None:
            self.launcher.dry_run(self.form)

    def _on_checked(self, submission: Submission) -> None:
        self.dry_run.show_submission(submission)
        # Its place is known only when the layout has been made.
        QTimer.singleShot(0, self, self._reveal_dry_run)

    def _reveal_dry_run(self) -> None:
        if self.dry_run.isVisible():
            self._scroll.ensureWidgetVisible(self.dry_run)

    def _on_started(self) -> None:
        self.dry_run.hide()

    def _on_failed(self, error: MosaicError) -> None:
        """Under the field it is about, or beside the button."""
        text = error_sentence(error)
        name = field_of_error(error, self.form.form) if self._is_agent else ""
        if name == "env_id":
            self.environment.show_problem(text)
            self._scroll.ensureWidgetVisible(self.environment)
        elif name and self._shown is not None:
            self.form.form.mark(name, text)
            row = self._shown.reveal(name)
            if row is not None:
                self._scroll.ensureWidgetVisible(row)
        self._error = text
        self._show_status()

    def _on_busy_changed(self, _: bool) -> None:
        self._show_status()

    # Choosing

    @property
    def _is_agent(self) -> bool:
        """Whether there is a form: an agent acts, and it is one that is here."""
        return self._state.mode is Mode.AGENT and self.launch.absent is None

    def _policy_worker(self) -> str:
        return self.launch.worker

    def _on_entry_chosen(self, name: str) -> None:
        self.launch.choose(name)
        self.roster.fold(self.height() < _ROOM_FOR_ALL)

    def _on_mode_chosen(self, value: str) -> None:
        self._state.set_mode(Mode(value))

    def _on_mode_changed(self, value: str) -> None:
        self.modes.choose(value)
        self._show_roster()
        self._show_form()

    def _on_operation_chosen(self, value: str) -> None:
        if value == _NEW:
            self.launch.set_operation(self.launch.first_operation)
        else:
            self.launch.set_operation(Operation(self.uses.value))

    def _on_use_chosen(self, value: str) -> None:
        policy = self.form.policy
        self.launch.set_operation(Operation(value))
        if policy is not None and self.form.policy is None:
            self.launch.use_policy(policy)  # whoever wants to resume it has just looked at it
            self._show_form()

    def _on_policy_chosen(self, policy: PolicyTarget) -> None:
        if self._is_agent:
            self.launch.use_policy(policy)
        else:
            self.launch.play_policy = policy
        self._show_status()
        self._bundle_check.look()

    def _on_look_again(self) -> None:
        self._workbench.bridge.ask(
            lambda client: client.workers(refresh=True), self._state.set_workers
        )

    def _on_environment_changed(self, _: str) -> None:
        if self._state.mode is Mode.HYBRID:
            policy = self.launch.play_policy
            if policy is not None and policy.env_id and policy.env_id != self._state.env_id:
                self.launch.play_policy = None
            self.policies.show_policies(self._state.env_id, self.launch.play_policy)
        if self._shown is not None:
            self._shown.look_again()
        self._show_status()
        self._look()

    def _look(self) -> None:
        """What is entered may have another starting point, and need something else."""
        self._starting_point.look()
        self._bundle_check.look()
        self._source_reading.look()

    def _on_form_asked(self, target: FormTarget) -> None:
        refused = self.launch.open_form(target)
        self._show_form()
        if refused:
            names = ", ".join(refused[:4])
            self._state.say(Notice(f"The form has no place for {names}: the rest is filled in"))
        if self._shown is not None and self._shown.form.fields:
            self._shown.reveal(self._shown.form.fields[0].name)
        # Its place is known only when the layout has been made.
        QTimer.singleShot(0, self, self._reveal_subject)

    def _reveal_subject(self) -> None:
        """The checkpoint that the form is about."""
        chip = self._shown.row(CHIP) if self._shown is not None else None
        if self._is_agent and self.form.has_policy:
            self._scroll.ensureWidgetVisible(self.policies)
        elif chip is not None:
            self._scroll.ensureWidgetVisible(chip)

    # Presets

    def _on_menu_opening(self) -> None:
        self._menu.fill(self.form if self._is_agent else None, self._problem() is None)

    def _on_preset_named(self, name: str) -> None:
        self.launcher.save_preset(self.form, name)

    def _on_preset_chosen(self, name: str) -> None:
        values = dict(self.launcher.presets(self.form).get(name, {}))
        self.form.form.reset_all()
        refused = self.form.load(values)
        if refused:
            names = ", ".join(refused[:4])
            self._state.say(Notice(f"Of {name} this does not fit any more: {names}"))

    def _on_reset(self) -> None:
        self.form.form.reset_all()
        self._error = ""
        self._show_status()

    # Plans

    def _on_edit_asked(self, form: LaunchForm, name: str) -> None:
        """The file that a field names, in a window of its own."""
        from mosaic.gui.plans.editor import PlanEditor

        if self._plan_editor is None:
            self._plan_editor = PlanEditor(self._workbench)
        field = form.form.field(name)
        text = option_text(field.schema)
        target = PlanTarget(field.title, form.worker, role=text.role, template=text.template)
        self._plan_editor.open_for_file(
            target, str(form.form.entry(name)), partial(form.form.set, name)
        )

    # Showing

    def _on_range_changed(self, _: int, most: int) -> None:
        """The scroll bar stands in the margin: right edges stay in one line."""
        width = self._scroll.verticalScrollBar().sizeHint().width() if most else 0
        self._content.setContentsMargins(_MARGIN, 4, _MARGIN - width, _MARGIN)

    def _show_roster(self) -> None:
        self.roster.show_entries(self.launch.entries, self.launch.chosen_entry)
        self._order_tabs()

    def _show_form(self) -> None:
        launch, is_agent = self.launch, self._is_agent
        self.operations.setVisible(is_agent and launch.can_use_trained)
        self.uses.setVisible(is_agent and launch.is_using_trained)
        self.operations.choose(_TRAINED if launch.is_using_trained else _NEW)
        if launch.is_using_trained:
            self.uses.choose(launch.operation.value)
            self.uses.button(Operation.RESUME.value).setEnabled(launch.can_resume)
        self._error = ""
        self.dry_run.hide()
        self.preset_row.hide()
        self.footer.more.setVisible(is_agent)
        if is_agent:
            self.launcher.read_presets(launch.operation)
            self._show_schema_form(launch.form)
            if launch.form.has_policy:
                self.policies.show_policies("", launch.form.policy)
        elif self._shown is not None:
            self._shown.hide()
            self._shown = None
        if self._state.mode is Mode.HYBRID:
            self.policies.show_policies(self._state.env_id, launch.play_policy)
        self._show_status()
        self._order_tabs()
        self._look()

    def _show_schema_form(self, form: LaunchForm) -> None:
        key = id(form)
        if key not in self._forms:
            made = SchemaForm(form.form, self._workbench.theme)
            made.rearranged.connect(self._order_tabs)
            made.edit_asked.connect(partial(self._on_edit_asked, form))
            form.form.changed.connect(self._on_entry_changed)
            form.form.fields_changed.connect(self._on_fields_changed)
            self._forms[key] = made
            self._content.insertWidget(self._form_place, made)
        if self._shown is not self._forms[key]:
            if self._shown is not None:
                self._shown.hide()
            self._shown = self._forms[key]
        self._shown.show()

    def _on_entry_changed(self, name: str) -> None:
        self._error = ""
        self._show_status()
        if name != CHIP:
            self._look()

    def _on_fields_changed(self) -> None:
        self._show_status()
        self._look()

    def _problem(self) -> Problem | None:
        if (absent := self.launch.absent) is not None:
            return Problem(f"{absent.title} is not installed")
        return self.form.problem() if self._is_agent else play_problem(self.launch)

    def _show_status(self) -> None:
        self._workbench.session.touch()
        is_agent, form = self._is_agent, self.form
        absent = self.launch.absent
        self.absent.show_entry(absent)
        is_playing = self._state.mode is not Mode.AGENT
        self.policies.setVisible(form.has_policy if is_agent else self._state.mode is Mode.HYBRID)
        self.environment.setVisible(is_playing or (is_agent and form.has_environment))
        self.keys.setVisible(is_playing)
        if is_playing:
            self.keys.show_keys(*key_rows(self.launch))
        problem = self._problem()
        in_environment = problem is not None and problem.field == "env_id" and is_agent
        self.environment.show_problem(problem.text if problem and in_environment else "")
        self.preview.show_form(form if is_agent else None, problem is None)
        offer = self._offer if problem is None else None
        self.bundle_card.show_offer(offer, self.launcher.is_busy)
        button = _PLAY[self._state.mode] if is_playing else form.button
        if self.launcher.is_busy:
            self.footer.show_busy(f"{button}…", "asking the daemon…")
        elif self._state.connection is Connection.CONNECTING:
            self.footer.show_busy(button, "connecting to the daemon …")
        elif problem is not None:
            # Of a checkpoint the first sentence will do: its chip, just above, has all of it.
            text = problem.text.partition(". ")[0] if problem.field == CHIP else problem.text
            self.footer.show_problem(button, text)
        elif offer is not None and offer.is_possible and not self._error:
            self.footer.show_busy(button, offer.reason)
        elif offer is not None:
            self.footer.show_problem(button, self._error or offer.reason)
        else:
            self.footer.show_ready(button, self._ready_text(form), LAUNCH_KEYS)
            if self._error:
                self.footer.show_error(self._error)

    def _ready_text(self, form: LaunchForm) -> str:
        """With the policy, which may have been scrolled away."""
        if not self._is_agent:
            policy = self.launch.play_policy if self._state.mode is Mode.HYBRID else None
            return f"ready · with {policy.text}" if policy else "ready"
        policy = form.policy if form.has_policy else None
        parts = ["ready", policy.text if policy else "", form.footprint().text]
        return " · ".join(part for part in parts if part)

    def _order_tabs(self) -> None:
        """From top to bottom, whatever was made first."""
        widgets: list[QWidget] = [self.modes.button(mode.value) for mode, _ in _MODES]
        widgets += self.roster.focusables()
        widgets += [self.operations.button(value) for value in (_NEW, _TRAINED)]
        widgets += [self.uses.button(item.value) for item in (Operation.EVALUATE, Operation.RESUME)]
        widgets += [*self.policies.focusables(), *self.environment.focusables()]
        for before, after in itertools.pairwise(widgets):
            QWidget.setTabOrder(before, after)
        last = self._shown.order_tabs(widgets[-1]) if self._shown is not None else widgets[-1]
        if last is not None:
            QWidget.setTabOrder(last, self.bundle_card.button)
        QWidget.setTabOrder(self.bundle_card.button, self.bundle_card.details)
        QWidget.setTabOrder(self.bundle_card.details, self.footer.button)
        QWidget.setTabOrder(self.footer.button, self.footer.more)
