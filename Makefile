PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
export OMP_WAIT_POLICY = PASSIVE

.PHONY: demo test test-slow lint clean

demo: $(STAMP)
	$(BIN)/fedrand demo

test: $(STAMP)
	$(BIN)/python -m pytest

test-slow: $(STAMP)
	$(BIN)/python -m pytest -m slow

lint: $(STAMP)
	$(BIN)/ruff check src tests scripts
	$(BIN)/pyright

clean:
	rm -rf .venv

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; name one: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet -c constraints.txt torch==2.13.0
	$(BIN)/pip install --quiet -c constraints.txt -e '.[dev]'
	@touch $@
