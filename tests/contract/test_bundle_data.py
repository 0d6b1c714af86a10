"""What every lock that comes along promises, and every bundle."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import lock_bundles  # noqa: E402

from mosaic.bundles.definitions import indexes_of, load_bundles  # noqa: E402
from mosaic.bundles.locks import (  # noqa: E402
    LOCKED_PLATFORM,
    Lock,
    lock_for,
    locked_variants,
    read_lock,
)
from mosaic.contracts.bundles import Accelerator, BundleKind  # noqa: E402
from mosaic.errors import BundleError  # noqa: E402

SHELF = lock_bundles.shelf_here()
LOCKS = sorted((lock_bundles.FOLDER / "locks").iterdir())
VARIANTS = list(lock_bundles.variants(SHELF))
# What runs use beside MOSAIC, and what other packages name.
PROMISED = (
    "base cleanrl_worker spade_bdi_worker llm_worker corl_worker jax upstream_cleanrl sb3_worker"
    " rllib_worker ray baseline_worker box2d mujoco atari minigrid dm_control procgen video wandb"
)


def lock_of(path: Path) -> Lock:
    return read_lock(path.read_text(), path.name)


def test_all_bundles_are_announced() -> None:
    assert set(PROMISED.split()) <= set(SHELF.definitions)
    assert SHELF.problems == ()
    assert dict(load_bundles().definitions) == dict(SHELF.definitions)


def test_nothing_is_wrong_with_bundles_and_locks() -> None:
    assert list(lock_bundles.faults(SHELF)) == []


def test_the_requirements_are_found_where_people_look_for_them() -> None:
    assert (ROOT / "requirements").readlink() == Path("src/mosaic_bundles/requirements")
    names = {path.stem for path in (ROOT / "requirements").iterdir()}
    assert names == set(SHELF.definitions)


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.stem)
def test_a_lock_reads_and_meets_what_its_bundles_require(path: Path) -> None:
    lock = lock_of(path)
    definitions = SHELF.joined(lock.bundle)
    assert list(lock_bundles.unmet_requirements(lock, definitions)) == []
    assert all(len(item.hashes) == 1 and item.size > 0 for item in lock.packages)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_all_add_ons_of_a_worker_fit_in_one_venv(variant: lock_bundles.Variant) -> None:
    names = (variant.worker.name, *(item.name for item in variant.add_ons))
    joined = lock_for(SHELF, names, variant.python, variant.accelerator, platform=LOCKED_PLATFORM)
    for add_on in names[1:]:
        part = lock_for(
            SHELF,
            (names[0], add_on),
            variant.python,
            variant.accelerator,
            platform=LOCKED_PLATFORM,
        )
        assert set(part.packages) <= set(joined.packages)


def test_every_bundle_has_a_lock_or_a_sentence() -> None:
    for definition in SHELF.definitions.values():
        alone = definition.kind is BundleKind.WORKER
        workers = [definition.name] if alone else definition.joins
        for worker in workers:
            names = (worker,) if alone else (worker, definition.name)
            if locked_variants(SHELF.joined("+".join(names))):
                continue
            with pytest.raises(BundleError, match=r": \w.{20,}\.$"):
                lock_for(SHELF, names, "3.11", Accelerator.CPU, platform=LOCKED_PLATFORM)


def test_every_bundle_says_why_somebody_would_want_it_and_how_it_is_tested() -> None:
    for definition in SHELF.definitions.values():
        assert definition.title and definition.about.endswith("."), definition.name
        assert len(definition.about) <= 100, definition.name
        assert definition.imports and definition.requirements, definition.name


def test_a_cpu_build_brings_nothing_for_a_gpu() -> None:
    for path in LOCKS:
        lock = lock_of(path)
        if lock.accelerator is Accelerator.CPU:
            heavy = [
                item.name for item in lock.packages if item.name.startswith(("nvidia", "cuda"))
            ]
            assert heavy == [], path.name


def test_what_only_its_makers_have_comes_with_their_index() -> None:
    for path in LOCKS:
        lock = lock_of(path)
        indexes = indexes_of(SHELF.joined(lock.bundle), lock.accelerator)
        assert bool(indexes) is bool(lock.local_builds), path.name


def test_the_light_base_has_nothing_that_trains() -> None:
    for path in LOCKS:
        if path.name.startswith("base-"):
            names = {item.name for item in lock_of(path).packages}
            assert not names & {"torch", "jax", "gymnasium", "tensorflow"}


def test_an_address_or_an_edit_is_found(tmp_path: Path) -> None:
    makers = 'cpu = "https://download.pytorch.org/whl/cpu"\n'
    (tmp_path / "bundles.toml").write_text(f'{makers}cpu = "https://example.org/whl"\n')
    (tmp_path / "a.txt").write_text("numpy==2\n--index-url there\nsee example.org/simple\n")
    assert list(lock_bundles.addresses(tmp_path)) == [
        "a.txt, line 2 names an address.",
        "a.txt, line 3 names an address.",
        "bundles.toml, line 2 names an address.",
    ]
