# make demo    the whole story, offline, on the emoji drawings that ship with the package
# make test    the tests but for the slow ones (make test-slow: those alone, make test-all: both)
# make lint    ruff and pyright;  make bench: speed against a plain PEFT loop;  make clean
# The first of them makes .venv; it is made again when pyproject.toml or constraints.txt change. The demo installs what it runs
# on, any other what developing takes too.

PYTHON ?= $(firstword $(foreach name,python3 python3.13 python3.12 python3.11,$(if $(shell \
	$(name) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo yes),$(name))) python3)
VENV := .venv
RUN := $(VENV)/bin/python
INSTALL := $(RUN) -m pip install --quiet --disable-pip-version-check -c constraints.txt

export OMP_WAIT_POLICY := PASSIVE
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.PHONY: demo test test-slow test-all lint format bench clean

demo: $(VENV)/base
	@echo 'The demo: two runs at once, nothing to download, some six minutes on two cores.'
	$(RUN) -m fedrand demo

test: $(VENV)/ready
	@echo 'The fast tests: some five minutes on two cores; a dot is a test.'
	$(RUN) -m pytest

test-slow: $(VENV)/ready
	$(RUN) -m pytest -m slow

test-all: $(VENV)/ready
	$(RUN) -m pytest -m ""

lint: $(VENV)/ready
	$(RUN) -m ruff check
	$(RUN) -m ruff format --check
	$(RUN) -m pyright

format: $(VENV)/ready
	$(RUN) -m ruff check --fix
	$(RUN) -m ruff format

bench: $(VENV)/ready
	$(RUN) benchmarks/round.py

clean:
	rm -rf $(VENV) .hypothesis .pytest_cache .ruff_cache dist
	find src tests scripts benchmarks -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/base: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "fedrand needs Python 3.11 or newer, '$(PYTHON)' is $$($(PYTHON) --version 2>&1); name one: make PYTHON=python3.12" >&2; \
		exit 1; }
	@echo 'Making $(VENV), once: PyTorch, transformers and what they need. About 0.3 GB to download and 1.3 GB on disk'
	@echo 'with a CPU build of PyTorch, several GB with the CUDA build that pip takes on Linux by itself; a few minutes.'
	$(PYTHON) -m venv --clear $(VENV)
	$(INSTALL) torch==2.13.0
	$(INSTALL) -e .
	@touch $@

$(VENV)/ready: $(VENV)/base
	@echo 'Adding to $(VENV) what tests, lint and figures take: about 0.1 GB to download and 0.3 GB on disk; a minute or two.'
	$(INSTALL) -e '.[dev]'
	@touch $@
