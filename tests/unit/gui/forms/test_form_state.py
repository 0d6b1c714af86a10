"""What a form holds, what is wrong with it, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from mosaic.gui.forms.model.fields import Field, FieldKind, ShownWhen, field_of
from mosaic.gui.forms.model.form_state import FormState

STEPS = field_of("steps", {"type": "integer", "minimum": 1, "default": 500_000})
TRACK = Field("track", "Track", FieldKind.BOOLEAN, default=False)
KEY = Field("key", "Key", FieldKind.SECRET, shown=ShownWhen("track", True))
NAME = Field("name", "Name", FieldKind.TEXT, is_required=True)


@pytest.fixture
def form() -> FormState:
    return FormState([STEPS, TRACK, KEY])


def test_defaults_are_not_changes(form: FormState) -> None:
    assert form.value("steps") == 500_000 and form.entry("steps") == "500,000"
    form.set("steps", "5e5")
    assert not form.is_changed("steps")
    form.set("steps", "6e5")
    assert form.is_changed("steps") and form.changed_values() == {"steps": 600_000}


def test_errors_come_and_go_with_the_entry(form: FormState) -> None:
    form.set("steps", "abc")
    assert "not a number" in form.error("steps") and form.validate()
    form.set("steps", "7")
    assert form.error("steps") == "" and not form.validate()


def test_a_field_that_is_not_shown_is_not_wrong_and_not_given(form: FormState) -> None:
    form.set_fields(
        [STEPS, TRACK, Field("n", "N", FieldKind.INTEGER, shown=ShownWhen("track", True))]
    )
    form.set("n", "abc")
    assert not form.validate() and "n" not in form.values()
    form.set("track", True)
    assert "n" in form.validate()


def test_secrets_are_kept_out_of_what_is_written(form: FormState) -> None:
    form.set("track", True)
    form.set("key", "hush")
    assert form.values()["key"] == "hush"
    assert form.changed_values(has_secrets=False) == {"track": True}


def test_resetting_one_and_all(form: FormState) -> None:
    told: list[str] = []
    form.changed.connect(told.append)
    form.set("steps", "7")
    form.set("track", True)
    form.reset("steps")
    assert form.value("steps") == 500_000 and form.value("track") is True
    form.reset_all()
    assert form.value("track") is False and told == ["steps", "track", "steps", "track"]


def test_an_unticked_box_can_be_reset() -> None:
    form = FormState([Field("save", "Save", FieldKind.BOOLEAN, default=True)])
    form.set("save", False)
    form.reset("save")
    assert form.value("save") is True


def test_what_the_daemon_said_stays_until_the_field_changes(form: FormState) -> None:
    form.mark("steps", "too many for this machine")
    assert form.error("steps") == "too many for this machine"
    form.set("steps", "7")
    assert form.error("steps") == ""


def test_a_mark_goes_even_when_the_same_is_entered_again(form: FormState) -> None:
    form.mark("steps", "no")
    form.set("steps", "500,000")
    assert form.error("steps") == ""


def test_missing_values_are_asked_for() -> None:
    form = FormState([NAME])
    assert form.validate() == {"name": "Name is missing"}
    form.set("name", "   ")
    assert form.validate() == {"name": "Name is missing"}
    form.set("name", "x")
    assert not form.validate()


def test_rules_between_fields() -> None:
    def rules(values: Mapping[str, Any]) -> Mapping[str, str]:
        return {"steps": "too many to track"} if values["track"] else {}

    form = FormState([STEPS, TRACK], rules)
    assert not form.validate()
    form.set("track", True)
    assert form.error("steps") == "too many to track"


def test_loading_says_what_did_not_fit(form: FormState) -> None:
    refused = form.load({"steps": 7, "track": "yes", "gone": 1})
    assert form.value("steps") == 7 and form.value("track") is False
    assert sorted(refused) == ["gone", "track"]


@pytest.mark.parametrize("value", [[], {}, True, "abc", None, 1.5, float("nan"), -1])
def test_loading_wrong_types_leaves_the_field_alone(form: FormState, value: Any) -> None:
    assert form.load({"steps": value}) == ["steps"]
    assert form.value("steps") == 500_000


def test_entries_wait_while_their_field_is_away(form: FormState) -> None:
    form.set("steps", "7")
    form.set_fields([TRACK])
    assert form.values() == {"track": False}
    form.set_fields([STEPS, TRACK])
    assert form.value("steps") == 7
