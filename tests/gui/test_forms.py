"""SchemaForm, as somebody types into it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QCheckBox, QLabel, QLineEdit, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from mosaic.contracts.catalogue import HYPERPARAMETERS
from mosaic.gui.forms.field_editors import ChoiceEditor, LongTextEditor, SecretEditor
from mosaic.gui.forms.model.fields import Choice, Field, FieldKind, ShownWhen, field_of
from mosaic.gui.forms.model.form_state import FormState
from mosaic.gui.forms.schema_form import SchemaForm
from mosaic.gui.launch.model.train_form import TrainForm
from mosaic.gui.theme.theme import Theme
from tests.unit.gui.launch_samples import filled_state

STEPS = field_of("steps", {"type": "integer", "minimum": 1, "default": 500_000})
TRACK = Field("track", "Track with W&B", FieldKind.BOOLEAN, default=False)
KEY = Field("key", "Key", FieldKind.SECRET, shown=ShownWhen("track", True))
RATE = field_of("rate", {"type": "number", "default": 0.1}, section="More")
MODE = Field(
    "mode", "Mode", FieldKind.CHOICE, default="a", choices=(Choice("a", "a"), Choice("b", "b"))
)
NOTES = Field("notes", "Notes", FieldKind.LONG_TEXT, section="More")


@pytest.fixture
def theme(qapp: QApplication) -> Theme:
    return Theme(qapp, "dark")


@pytest.fixture
def form() -> FormState:
    return FormState([STEPS, MODE, TRACK, KEY, RATE, NOTES])


@pytest.fixture
def widget(qtbot: QtBot, form: FormState, theme: Theme) -> Iterator[SchemaForm]:
    made = SchemaForm(form, theme)
    qtbot.addWidget(made)
    made.resize(268, 600)
    made.show()
    yield made


def editor(widget: SchemaForm, name: str) -> QWidget:
    row = widget.row(name)
    assert row is not None
    return row.editor


def visible_error(widget: SchemaForm, name: str) -> str:
    found = widget.findChild(QLabel, f"error-{name}")
    return found.text() if isinstance(found, QLabel) and found.isVisible() else ""


def type_into(qtbot: QtBot, line: QWidget, text: str) -> None:
    assert isinstance(line, QLineEdit)
    line.selectAll()
    qtbot.keyClicks(line, text)


def test_errors_appear_while_typing_and_go(
    qtbot: QtBot, widget: SchemaForm, form: FormState
) -> None:
    line = editor(widget, "steps")
    type_into(qtbot, line, "1e")
    assert "not a number" in visible_error(widget, "steps")
    assert line.property("invalid") is True
    qtbot.keyClicks(line, "6")
    assert visible_error(widget, "steps") == "" and form.value("steps") == 1_000_000
    assert line.property("invalid") is False


def test_a_change_can_be_taken_back(qtbot: QtBot, widget: SchemaForm, form: FormState) -> None:
    line = editor(widget, "steps")
    row = widget.row("steps")
    assert row is not None and isinstance(line, QLineEdit)
    button = row.findChild(QToolButton)
    assert isinstance(button, QToolButton) and not button.isVisible()
    place = line.geometry()
    type_into(qtbot, line, "7")
    assert button.isVisible() and line.geometry() == place
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert line.text() == "500,000" and not button.isVisible()


def test_fields_come_when_they_make_sense(
    qtbot: QtBot, widget: SchemaForm, form: FormState
) -> None:
    secret = editor(widget, "key")
    assert isinstance(secret, SecretEditor) and not secret.isVisible()
    tick = editor(widget, "track")
    assert isinstance(tick, QCheckBox) and tick.text() == "Track with W&&B"
    tick.setFocus()
    qtbot.keyClick(tick, Qt.Key.Key_Space)
    assert form.value("track") is True and secret.isVisible()
    type_into(qtbot, secret, "hush")
    assert secret.displayText() != "hush" and form.value("key") == "hush"


def test_sections_are_made_when_they_are_opened(
    qtbot: QtBot, widget: SchemaForm, form: FormState
) -> None:
    assert widget.row("rate") is None
    header = widget.section("More").header
    assert header is not None
    header.setFocus()
    qtbot.keyClick(header, Qt.Key.Key_Space)
    assert editor(widget, "rate").isVisible()
    form.set("rate", "x")
    qtbot.keyClick(header, Qt.Key.Key_Space)
    assert "1 wrong" in header.accessibleName()


def test_a_field_in_a_closed_section_can_be_revealed(widget: SchemaForm) -> None:
    row = widget.reveal("rate")
    assert row is not None and row.isVisible()


def test_choices_are_told_by_their_value(widget: SchemaForm, form: FormState) -> None:
    combo = editor(widget, "mode")
    assert isinstance(combo, ChoiceEditor)
    combo.setCurrentIndex(1)
    combo.textActivated.emit("b")
    assert form.value("mode") == "b"
    form.reset("mode")
    assert combo.currentText() == "a"


def test_tab_goes_from_top_to_bottom(qtbot: QtBot, widget: SchemaForm) -> None:
    widget.section("More").open()
    widget.order_tabs()
    widget.activateWindow()
    order = [editor(widget, name) for name in ("steps", "mode", "track", "rate", "notes")]
    chain: list[QWidget] = []
    item: QWidget | None = order[0]
    while item is not None and item not in chain:
        chain.append(item)
        item = item.nextInFocusChain()
    places = [chain.index(item) for item in order]
    assert places == sorted(places)


def test_long_texts_leave_ctrl_enter_alone(qtbot: QtBot, widget: SchemaForm) -> None:
    widget.section("More").open()
    notes = editor(widget, "notes")
    assert isinstance(notes, LongTextEditor)
    qtbot.keyClicks(notes, "two")
    qtbot.keyClick(notes, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert notes.toPlainText() == "two"


def test_another_algorithm_keeps_the_rows_that_fit_it(qtbot: QtBot, theme: Theme) -> None:
    form = TrainForm(filled_state(), "cleanrl")
    widget = SchemaForm(form.form, theme)
    qtbot.addWidget(widget)
    widget.resize(268, 2000)
    widget.show()
    widget.section(HYPERPARAMETERS).open()
    form.form.set("algo", "dqn")
    form.form.set("algo", "ppo")
    made = {name: widget.row(name) for name in ("learning_rate", "gamma")}
    assert all(made.values())
    for name in ("dqn", "ppo", "c51", "ppo", "dqn"):
        form.form.set("algo", name)
        assert {row.field.name for row in widget.section(HYPERPARAMETERS).rows()} == {
            item.name for item in form.form.fields if item.section == HYPERPARAMETERS
        }
        # Making a row takes long; those that fit the next algorithm, too, stay.
        assert {name: widget.row(name) for name in made} == made


def test_it_fits_a_narrow_panel(qtbot: QtBot, theme: Theme) -> None:
    """No algorithm's form is wider than the panel, and no title is cut off."""
    form = TrainForm(filled_state(), "cleanrl")
    widget = SchemaForm(form.form, theme)
    qtbot.addWidget(widget)
    widget.resize(256, 4000)
    widget.show()
    form.form.set("track_wandb", True)
    for algorithm in form.algorithms:
        form.form.set("algo", algorithm.name)
        for item in {field.section for field in form.form.fields}:
            widget.section(item).open()
        assert widget.minimumSizeHint().width() <= 256, algorithm.name
