"""BundlesPage: what workers and environments need, with what became of it here."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)

from mosaic.contracts.bundles import Accelerator, InstallRequest, VenvInfo
from mosaic.front.bundle_words import total_words
from mosaic.gui.bundles.card import BundleCard
from mosaic.gui.bundles.model.card import PRIMARY, BundleAction, card_of
from mosaic.gui.bundles.model.plans import (
    BuildChoice,
    Plan,
    build_choices,
    install_plan,
    prune_plan,
    removal_plan,
    variant_of,
)
from mosaic.gui.bundles.model.rows import found, problems_text, rows_of, summary
from mosaic.gui.bundles.sheet import PlanSheet
from mosaic.gui.bundles.table import BundleTable
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.workbench_state import Connection
from mosaic.gui.widgets.messages import Banner, EmptyState
from mosaic.gui.widgets.roles import eliding_label, label, with_role
from mosaic.gui.widgets.stage_page import BackButton, StagePage

_NARROW = 480
_MOST_OF_PAGE = 0.6  # for the card; the list keeps the rest


class BundlesPage(StagePage):
    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self.setObjectName("bundles-page")
        self._workbench = workbench
        self._bundles = workbench.state.bundles
        self._keeper = workbench.bundles
        self._verifying = ""
        self._wanted = ""  # by somebody, perhaps before it is listed
        self._is_open = False
        self._make_parts()
        self._lay_out()
        self._connect()
        self._show()

    def _make_parts(self) -> None:
        theme = self._workbench.theme
        self.back_button = BackButton(theme, self._workbench.state.leave_page)
        self.subtitle = eliding_label("", "caption")
        self.filter_field = QLineEdit()
        self.filter_field.setObjectName("bundles-filter")
        self.filter_field.setPlaceholderText("filter…")
        self.filter_field.setAccessibleName("Filter the bundles")
        self.filter_field.setClearButtonEnabled(True)
        self.prune_button = QPushButton("Prune…")
        self.prune_button.setObjectName("bundles-prune")
        self.prune_button.setToolTip("Remove the venvs that nothing needs any more")
        self.table = BundleTable(theme)
        self.problems = Banner(theme, "alert-outline")
        self.message = EmptyState(theme, "package-variant-closed", "")
        self.card, self.sheet = BundleCard(), PlanSheet()

    def _lay_out(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(0)
        words.addWidget(label("Bundles", "section"))
        words.addWidget(self.subtitle)
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self.back_button)
        head.addLayout(words, 1)
        head.addWidget(self.filter_field)
        head.addWidget(self.prune_button)
        stack = QWidget()
        self._stack = QStackedLayout(stack)
        self._stack.addWidget(self.message)
        self._stack.addWidget(self.table)
        inside = with_role(QWidget(), "plain")
        below = QVBoxLayout(inside)
        below.setContentsMargins(0, 0, 0, 0)
        for part in (self.card, self.sheet):
            below.addWidget(part)
        below.addStretch(1)
        self._below = _FittingScroll()
        self._below.setWidget(inside)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 10, 12, 10)
        layout.setSpacing(8)
        layout.addLayout(head)
        layout.addWidget(self.problems)
        layout.addWidget(stack, 1)
        layout.addWidget(self._below)

    def _connect(self) -> None:
        self.filter_field.textChanged.connect(self._show)
        self.prune_button.clicked.connect(self.ask_to_prune)
        self.table.selectionModel().currentRowChanged.connect(self._on_chosen)
        self.table.doubleClicked.connect(lambda _: self._perform_first())
        self.card.asked.connect(lambda action: self.perform(BundleAction(action)))
        self.sheet.agreed.connect(self._on_agreed)
        self.sheet.dismissed.connect(self._close_sheet)
        self.sheet.build_chosen.connect(self._on_build_chosen)
        state = self._workbench.state
        state.bundles.changed.connect(self._on_changed)
        state.connection_changed.connect(self._on_changed)

    # StagePage

    def open(self) -> None:
        """Also when it is shown already: somebody may want to see another bundle."""
        self._is_open = True
        self._keeper.watch(self, True)
        self._keeper.ask_problems()
        wanted, self._bundles.asked_name = self._bundles.asked_name, ""
        if wanted:
            self._wanted = wanted
            self.filter_field.clear()
        self._show()
        self.table.setFocus()

    def leave(self) -> None:
        self._is_open = False
        self._keeper.watch(self, False)
        self._close_sheet()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_narrow = event.size().width() < _NARROW
        self.filter_field.setMaximumWidth(88 if is_narrow else 160)
        self._fit_card()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """What the table leaves: Escape closes the sheet first, then the page."""
        if event.key() == Qt.Key.Key_Escape and self.is_asking:
            self._close_sheet()
        elif self.table.hasFocus() and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._perform_first()
        elif self.table.hasFocus() and event.key() == Qt.Key.Key_Delete:
            self.perform(BundleAction.REMOVE)
        else:
            super().keyPressEvent(event)

    # What the person does

    @property
    def is_asking(self) -> bool:
        return self.sheet.isVisibleTo(self)

    def choose(self, name: str) -> bool:
        """False where no such bundle is listed."""
        return self.table.choose(name)

    def perform(self, action: BundleAction) -> None:
        """With the chosen bundle, where that can be done with it."""
        name = self.table.chosen
        if not name or action not in self.card.possible:
            return
        match action:
            case BundleAction.INSTALL | BundleAction.AGAIN:
                self._ask_to_install(name, None)
            case BundleAction.RETRY:
                self._retry(name)
            case BundleAction.CANCEL:
                self._keeper.cancel(name)
            case BundleAction.VERIFY:
                self._verify(name)
            case BundleAction.REMOVE:
                info = self._bundles.info(name)
                assert info is not None  # it has a card
                self._ask_harm(removal_plan(info))

    def ask_to_prune(self) -> None:
        self._keeper.look_to_prune(self._on_prunable)

    def _on_prunable(self, infos: list[VenvInfo]) -> None:
        if self._is_open:
            self._ask_harm(prune_plan(infos))

    def _ask_harm(self, plan: Plan) -> None:
        self._open_sheet(plan)
        self.sheet.no.setFocus()  # Return means no

    def _perform_first(self) -> None:
        wanted = next((action for action in self.card.possible if action in PRIMARY), None)
        if wanted is not None:
            self.perform(wanted)

    def _ask_to_install(self, name: str, accelerator: Accelerator | None) -> None:
        variants = self._bundles.variants(name)
        if not variants:
            return
        info = variant_of(variants, accelerator)
        choices = build_choices(variants)
        folder = str(self._workbench.home.trainer / "venvs")
        plan = install_plan(info, folder, is_one_of_several=bool(choices))
        self._open_sheet(plan, choices, info.accelerator)
        if accelerator is None:
            self.sheet.yes.setFocus()

    def _open_sheet(
        self,
        plan: Plan,
        choices: Sequence[BuildChoice] = (),
        chosen: Accelerator | None = None,
    ) -> None:
        self.sheet.show_plan(plan, choices, chosen)
        self._show_below()

    def _close_sheet(self) -> None:
        had_keyboard = self.sheet.isAncestorOf(self.focusWidget()) if self.focusWidget() else False
        self.sheet.plan = None
        self._show_below()
        if had_keyboard and self._is_open:
            self.table.setFocus()

    def _on_build_chosen(self, value: str) -> None:
        if self.sheet.plan is not None and self.sheet.plan.request is not None:
            self._ask_to_install(self.sheet.plan.request.name, Accelerator(value))

    def _on_agreed(self, plan: Plan) -> None:
        self._close_sheet()
        if plan.request is not None:
            self._keeper.install(plan.request)
        elif plan.removed:
            self._keeper.remove(plan.removed)
        else:
            self._keeper.prune()

    def _retry(self, name: str) -> None:
        """What was agreed to before is agreed to still, unless it is more by now."""
        last = self._keeper.last_request(name)
        info = self._bundles.info(name)
        if last is not None and info is not None and _covers(last, info.fetch_bytes):
            self._keeper.install(last)
        else:
            self._ask_to_install(name, None)

    def _verify(self, name: str) -> None:
        self._verifying = name
        self._show_below()
        self._keeper.verify(name, self._on_verified)

    def _on_verified(self) -> None:
        self._verifying = ""
        self._show_below()

    # What it shows

    def _on_changed(self, *_: object) -> None:
        if self._is_open:
            self._show()

    def _on_chosen(self, *_: object) -> None:
        self.sheet.plan = None  # it was about another one
        self._show_below()

    def _show(self) -> None:
        infos = self._bundles.infos
        chosen = self.table.chosen
        shown = found(rows_of(infos), self.filter_field.text())
        self.table.bundles.show_rows(shown)
        if self._wanted and self.table.choose(self._wanted):
            self.table.scrollTo(self.table.currentIndex())
            self._wanted = ""
        elif shown and not self.table.choose(chosen):
            self.table.choose(shown[0].name)
        self.subtitle.setText(summary(infos, len(shown), self._bundles.left_over))
        self.subtitle.setToolTip(total_words([*infos, *self._bundles.left_over]))
        self._show_message(bool(infos), bool(shown))
        self.problems.show_text(problems_text(self._bundles.problems))
        self._stack.setCurrentWidget(self.table if shown else self.message)
        is_online = self._workbench.state.connection is Connection.ONLINE
        self.prune_button.setEnabled(bool(infos) and is_online)
        self._show_below()

    def _show_message(self, has_any: bool, has_shown: bool) -> None:
        if has_shown:
            return
        if has_any:
            self.message.show_text("No bundle matches", "Clear the filter to see all of them.")
        elif self._bundles.problem:
            self.message.show_text("The bundles cannot be listed", self._bundles.problem)
        elif self._bundles.is_listed:
            text = "No installed package brings one: all workers use what is installed beside them."
            self.message.show_text("There are no bundles", text)
        else:
            self.message.show_text("Asking the daemon for its bundles …")

    def _show_below(self) -> None:
        name = self.table.chosen
        info = self._bundles.info(name)
        if info is not None:
            is_online = self._workbench.state.connection is Connection.ONLINE
            self.card.show_bundle(card_of(info), is_online)
            self.card.show_busy(self._verifying == name)
            if self._is_open and is_online and PRIMARY.intersection(self.card.possible):
                self._keeper.ask_variants(name)
        is_asking = self.sheet.plan is not None
        self.sheet.setVisible(is_asking)
        self.card.setVisible(not is_asking and info is not None)
        self._below.setVisible(is_asking or info is not None)
        self._fit_card()

    def _fit_card(self) -> None:
        self._below.fit(int(self.height() * _MOST_OF_PAGE))


class _FittingScroll(QScrollArea):
    """As high as what is in it, up to what it may be; then it scrolls."""

    def __init__(self) -> None:
        super().__init__()
        self._most = 0
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def fit(self, most: int) -> None:
        self._most = most
        inside = self.widget()
        layout = inside.layout() if inside is not None else None
        if layout is None:
            return
        layout.activate()
        has_height = layout.hasHeightForWidth()
        width = max(1, self.width())
        wanted = layout.heightForWidth(width) if has_height else layout.sizeHint().height()
        self.setFixedHeight(max(1, min(wanted, most)))

    def minimumSizeHint(self) -> QSize:
        return QSize(0, 0)


def _covers(request: InstallRequest, fetch_bytes: int) -> bool:
    return request.most_bytes is None or fetch_bytes <= request.most_bytes
