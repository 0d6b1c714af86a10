"""Bundles as rows, cards and plans."""

from __future__ import annotations

import dataclasses

from mosaic.contracts.bundles import Accelerator, InstallPhase, InstallProgress, VenvState
from mosaic.front.bundle_words import TimeLeft
from mosaic.gui.bundles.model.card import BundleAction, InstallTexts, card_of
from mosaic.gui.bundles.model.plans import (
    build_choices,
    install_plan,
    prune_plan,
    removal_plan,
    variant_of,
)
from mosaic.gui.bundles.model.rows import Column, Tone, found, row_of, rows_of, summary
from tests.unit.gui.bundle_samples import (
    LONGEST_TITLE,
    MB,
    NOW,
    SIX_PARTS,
    going_on,
    gone_wrong,
    info,
    installed,
    other_builds,
    shelf,
)


def test_each_state_has_its_words() -> None:
    rows = {row.name: row for row in rows_of(shelf(), NOW)}
    assert [row.state for row in rows.values()] == [
        *("comes with MOSAIC", "installed", "not installed"),
        *("not installed", "broken", "unavailable"),
    ]
    assert rows["learner"].text(Column.SIZE) == "640 MB on disk"
    assert rows["learner"].used == "3 min ago"
    assert rows["learner+atari"].text(Column.SIZE) == "212 MB to fetch"
    assert rows["old_scripts"].tone is Tone.BAD and "12 files" in rows["old_scripts"].problem
    assert rows["ray"].text(Column.SIZE) == "–"
    assert "Python 3.13" in rows["ray"].tooltip and "Python 3.13" in rows["ray"].sentence


def test_an_install_has_its_percentage_and_a_failure_its_reason() -> None:
    busy = row_of(info(state=VenvState.INSTALLING, progress=going_on(0.614)))
    assert busy.state == "installing, 61 %" and busy.fraction == 0.614
    failed = row_of(info(progress=gone_wrong()))
    assert failed.state == "install failed" and failed.fraction is None
    assert "hash" in failed.problem


def test_hostile_values_fit_into_a_row_and_a_card() -> None:
    for fetch, disk in ((0, 0), (10**13, 10**13)):
        hostile = info(
            SIX_PARTS, title=LONGEST_TITLE, about="a\nb\tc", fetch_bytes=fetch, disk_bytes=disk
        )
        row, card = row_of(hostile), card_of(hostile)
        assert row.about == "a b c" and "\n" not in row.title
        assert row.text(Column.SIZE) == ("10.0 TB to fetch" if fetch else "–")
        assert ("10.0 TB" if fetch else "nothing to fetch") in card.facts
    assert row_of(info(title="")).title == "learner"
    nowhere = row_of(installed(disk_bytes=0, shared_bytes=5))
    assert nowhere.size == "–"


def test_rows_are_found_by_all_words_that_are_shown() -> None:
    rows = rows_of(shelf())
    assert [row.name for row in found(rows, "atari PONG")] == ["learner+atari"]
    assert [row.name for row in found(rows, "broken")] == ["old_scripts"]
    assert len(found(rows, "")) == len(rows) and found(rows, "nothing") == []


def test_the_summary_counts_what_is_here() -> None:
    assert summary(shelf()) == "6 bundles · 2 installed, 1.3 GB"
    assert summary(shelf(), 2).startswith("2 of 6 bundles")
    assert summary(shelf(), None, [installed()]).endswith("· 1 older, 640 MB")
    assert summary([info()]) == "1 bundle · none installed yet" and summary([]) == ""


def test_a_card_offers_what_its_state_allows() -> None:
    offers = {item.name: card_of(item, NOW).actions for item in shelf()}
    assert offers["base"] == () and offers["ray"] == ()
    assert offers["learner"] == (BundleAction.VERIFY, BundleAction.REMOVE)
    assert offers["learner+atari"] == (BundleAction.INSTALL,)
    assert offers["old_scripts"] == (BundleAction.AGAIN, BundleAction.REMOVE)
    busy = card_of(info(state=VenvState.INSTALLING, progress=going_on()))
    assert busy.actions == (BundleAction.CANCEL,) and busy.progress is not None
    failed = card_of(info(progress=gone_wrong()))
    assert failed.actions == (BundleAction.RETRY,)
    assert failed.problem == "torch 2.9.1 has another hash than the lock says."
    assert failed.advice.startswith("Try again")
    command = dataclasses.replace(gone_wrong(), hint="`mosaic bundles install learner` tries again")
    assert card_of(info(progress=command)).advice == "", "there is a button for it"


def test_facts_tell_sizes_and_times() -> None:
    facts = card_of(installed(), NOW).facts
    assert facts == (
        "640 MB on disk · 140 MB of it shared · Python 3.11, CPU · installed 2 d ago"
        " · used 3 min ago"
    )
    assert "never used" in card_of(installed(used_at=None), NOW).facts
    assert "640 MB on disk" in card_of(info()).facts


def test_an_install_tells_what_and_how_much_is_left() -> None:
    seconds = iter((0.0, 4.0, 8.0))
    texts = InstallTexts(TimeLeft(lambda: next(seconds)))
    assert texts.happening(going_on()) == "Fetching torch 2.9.1"
    assert texts.amounts(going_on(0.25)) == "53.0 MB of 212 MB · 159 MB left"
    assert texts.amounts(going_on(0.5)) == "106 MB of 212 MB · 106 MB left · 8.0 s left"
    waiting = InstallProgress(InstallPhase.WAITING)
    assert texts.happening(waiting).startswith("Waiting")
    assert texts.amounts(waiting) == ""
    assert "daemon" in texts.happening(going_on(), is_online=False)


def test_a_plan_says_what_is_agreed_to() -> None:
    plan = install_plan(info("learner+atari"), "/venvs")
    assert plan.title == "Install The learner+atari?" and plan.yes == "Install 212 MB"
    rows = dict(plan.rows)
    assert rows["Fetched"].startswith("at most 212 MB") and rows["Goes to"] == "/venvs"
    assert plan.request is not None and plan.request.most_bytes == 212 * MB
    assert plan.request.accelerator is None
    assert len(install_plan(info(title=LONGEST_TITLE), "/venvs").title) < 90
    nothing = install_plan(info(fetch_bytes=0), "/venvs")
    assert nothing.yes == "Install" and dict(nothing.rows)["Fetched"] == "nothing"
    assert nothing.request is not None and nothing.request.most_bytes == 0


def test_accelerators_are_offered_where_there_are_several() -> None:
    variants = [*(item for item in shelf() if item.name == "jax"), *other_builds()]
    assert [item.text for item in build_choices(variants)] == ["CPU · 212 MB", "CUDA · 2.9 GB"]
    assert build_choices(variants[:1]) == []
    chosen = variant_of(variants, Accelerator.CUDA)
    plan = install_plan(chosen, "/venvs", is_one_of_several=True)
    assert plan.request is not None and plan.request.accelerator is Accelerator.CUDA
    assert plan.request.most_bytes == 2_900 * MB
    nowhere = info("jax", state=VenvState.UNAVAILABLE, problem="There is no lock")
    assert variant_of([nowhere, *variants], None) == variants[0]
    assert len(build_choices([nowhere, *variants])) == 2
    assert build_choices([nowhere, variants[0]]) == []


def test_a_removal_says_what_it_frees() -> None:
    plan = removal_plan(installed())
    assert plan.is_harmful and dict(plan.rows)["Freed"] == "500 MB"
    assert "other venvs" in dict(plan.rows)["Kept"]
    alone = removal_plan(installed(shared_bytes=0))
    assert "Kept" not in dict(alone.rows) and dict(alone.rows)["Freed"] == "640 MB"
    assert plan.removed == "learner"


def test_a_tidying_up_names_what_goes() -> None:
    plan = prune_plan([installed(name, title=name.upper()) for name in "abcdef"])
    assert plan.is_harmful and plan.request is None and not plan.removed
    assert plan.title == "Remove 6 venvs that nothing needs any more?"
    assert dict(plan.rows)["Freed"] == "3.0 GB"
    assert dict(plan.rows)["Removed"].endswith("A, B, C, D and 2 more")


def test_a_build_that_stands_in_says_why_on_its_card_and_beside_its_size() -> None:
    note = "This is the CUDA build: there is no other."
    stand_in = info("learner", note=note, hint="`mosaic bundles install learner`")
    assert card_of(stand_in).advice == note
    plan = install_plan(stand_in, "/venvs")
    assert plan.note == note and "212 MB" in dict(plan.rows)["Fetched"]
    assert plan.request is not None and plan.request.most_bytes == 212 * MB
