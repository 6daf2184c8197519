# Each command makes the virtual environment it needs: python3 and make are enough to begin.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PYTEST_ARGS ?= -n 2 -q

# Small fits of every estimator: what runs in minutes without a compiler.
SMALL := tests/reliability/test_containers.py::test_long_indices_make_no_difference \
	tests/solvers/test_twins.py
MINUTES ?= 60

.PHONY: demo test test-unjitted test-bounds test-oldest coverage fuzz fuzz-files check fix bench bench-quick clean

demo: $(VENV)/.plot
	$(BIN)/python examples/demo.py

test: $(VENV)/.dev
	$(BIN)/python -m pytest $(PYTEST_ARGS)

# The same with every line counted that a test runs; compiled code cannot be counted.
coverage: PYTEST_ARGS += --cov=maxmargin --cov-report=term:skip-covered --cov-fail-under=95
coverage: test

# The compiled loops as plain Python, and with every index checked.
test-unjitted: $(VENV)/.dev
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest $(PYTEST_ARGS) $(SMALL)

test-bounds: $(VENV)/.dev
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(VENV)/.bounds $(BIN)/python -m pytest $(PYTEST_ARGS) \
		$(SMALL) tests/solvers tests/reliability/test_state.py tests/contracts/test_engines.py

# Random problems against an interior-point method and scikit-learn: make fuzz MINUTES=10.
fuzz: $(VENV)/.dev
	$(BIN)/python tests/fuzz $(MINUTES)

# A hundred thousand damaged model files, ten times those of the suite.
fuzz-files: $(VENV)/.dev
	MAXMARGIN_MUTATIONS=10 $(BIN)/python -m pytest $(PYTEST_ARGS) tests/files/test_fuzz.py

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
	$(BIN)/python benchmarks/maps.py

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
	rm -rf $(VENV) .venv-oldest demo_output fuzz_output benchmarks/output
