# Each command makes the virtual environment it needs: python3 and make are enough to begin.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PYTEST_ARGS ?= -n 2 -q

.PHONY: demo test test-oldest check fix bench bench-quick clean

demo: $(VENV)/.plot
	$(BIN)/python examples/demo.py

test: $(VENV)/.dev
	$(BIN)/python -m pytest $(PYTEST_ARGS)

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

fix: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The data folder: make bench DATA=path, or the variable MAXMARGIN_DATA.
bench: $(VENV)/.bench
	$(BIN)/python benchmarks/run.py $(if $(DATA),--data $(DATA)) $(BENCH_ARGS)
	$(BIN)/python benchmarks/probability.py $(if $(DATA),--data $(DATA))
	$(BIN)/python benchmarks/cases.py $(if $(DATA),--data $(DATA))
	$(BIN)/python benchmarks/lasso.py $(if $(DATA),--data $(DATA))

bench-quick: BENCH_ARGS += --quick
bench-quick: bench

# The suite with the oldest versions that pyproject.toml promises.
test-oldest:
	PIP_CONSTRAINT=$(CURDIR)/tests/oldest.txt $(MAKE) test VENV=.venv-oldest

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.plot: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet -e ".[plot]"
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet -e ".[dev]"
	@touch $@

$(VENV)/.bench: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet -e ".[bench]"
	@touch $@

clean:
	rm -rf $(VENV) .venv-oldest demo_output benchmarks/output
