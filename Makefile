# Everything a fresh machine needs: Python >= 3.11, git and make. Each target sets itself up.
VENV ?= .venv
PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13 || command -v python3)
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed-run
DEV_STAMP := $(VENV)/.installed-dev
RUN_EXTRAS := gui,bundles
DEV_EXTRAS := baseline,cleanrl,box2d,mujoco,atari,minigrid,dm-control,video,wandb,tensorboard,compare,parquet,minari,docs,dev

# One more than there are cores: many tests wait for a process of theirs.
TEST_PROCESSES = $(shell $(PYTHON) -c 'import os; print(min(os.cpu_count() or 1, 3) + 1)')

# Where a machine forbids it, every process of a test compiles all that it imports.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: run test lint types imports bench learn chaos chaos-bounded windows docs screenshots site proto clean

run: $(STAMP)  ## set up, then open the workbench; without a screen, train with live progress
	@$(PY) tools/first_run.py

test: $(DEV_STAMP)  ## set up, then all tests that every commit must pass
	$(PY) -m pytest tests --numprocesses $(TEST_PROCESSES) --dist worksteal

lint: $(DEV_STAMP)
	$(PY) -m ruff check src tests benchmarks learning tools examples
	$(PY) -m ruff format --check src tests benchmarks learning tools examples
	$(PY) tools/check_layout.py

types: $(DEV_STAMP)
	$(PY) -m mypy

imports: $(DEV_STAMP)
	$(VENV)/bin/lint-imports

bench: $(DEV_STAMP)  ## every hot path as a ratio against a baseline in the same run
	$(PY) -m benchmarks

learn: $(DEV_STAMP)  ## train every algorithm to its published return: about an hour on two cores
	$(PY) -m learning

chaos: $(DEV_STAMP)  ## real faults: kills, full disks, floods, hostile input
	$(PY) -m pytest tests/chaos tests/crash_states -m chaos -s --timeout 1800

chaos-bounded: $(DEV_STAMP)  ## of these faults, those that block a merge, in about two minutes
	MOSAIC_CHAOS=bounded $(PY) -m pytest tests/chaos -m 'chaos and blocks_merge' --timeout 300

windows: $(DEV_STAMP)  ## tests of the window alone, shuffled, in other fonts, at other scales, with late answers: half an hour
	$(PY) tools/window_matrix.py

docs: $(DEV_STAMP)  ## rewrite the pages that are derived from the source
	$(PY) tools/log_events.py
	$(PY) tools/command_line_page.py
	$(PY) tools/contract_schemas.py
	$(PY) tools/algorithm_schemas.py
	$(PY) tools/environment_catalogue.py

screenshots: $(DEV_STAMP)  ## take the pictures of the workbench again: about four minutes
	$(PY) tools/screenshots.py

site: $(DEV_STAMP)  ## the documentation as web pages in build/site; a warning is an error
	$(PY) -m sphinx -W --keep-going -q -b html docs build/site

proto: $(DEV_STAMP)
	PYTHON=$(PY) tools/generate_proto.sh

clean:
	rm -rf $(VENV) build dist *.egg-info src/*.egg-info

$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "MOSAIC needs Python 3.11 or newer; found " + sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)

$(STAMP): $(PY) pyproject.toml constraints.txt
	$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$(RUN_EXTRAS)]'
	@touch $@

$(DEV_STAMP): $(STAMP)
	@tools/install_system_packages.sh --for-tests
	$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$(RUN_EXTRAS),$(DEV_EXTRAS)]'
	@touch $@
