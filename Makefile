# make demo    the whole story, offline, on the emoji drawings that ship with the package
# make test    the tests but for the slow ones (make test-slow: those alone, make test-all: both)
# make lint    ruff and pyright;  make bench: speed against a plain PEFT loop;  make clean
# The first of them makes .venv; it is made again when pyproject.toml or constraints.txt change.

PYTHON ?= $(firstword $(foreach name,python3 python3.13 python3.12 python3.11,$(if $(shell \
	$(name) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo yes),$(name))) python3)
VENV := .venv
RUN := $(VENV)/bin/python

export OMP_WAIT_POLICY := PASSIVE
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.PHONY: demo test test-slow test-all lint format bench clean

demo: $(VENV)/ready
	$(RUN) -m fedrand demo

test: $(VENV)/ready
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

$(VENV)/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "fedrand needs Python 3.11 or newer, '$(PYTHON)' is $$($(PYTHON) --version 2>&1); name one: make PYTHON=python3.12" >&2; \
		exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	$(RUN) -m pip install --quiet --disable-pip-version-check -c constraints.txt torch==2.13.0
	$(RUN) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@
