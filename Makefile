# Every target but help sets up .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# One BLAS thread: tests and workers are processes already.
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1
# Without bytecode on disk every process compiles what it imports, and the tests start some hundred.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup check format test adversary soak bounds fuzz coverage lowest bench docs reproduce clean

help:  ## show the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

setup: $(STAMP)  ## make .venv and install mlrank with its tools

check: $(STAMP)  ## lint, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)  ## rewrite the code in the house format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

test: $(STAMP)  ## run the tests
	$(BIN)/pytest -n auto --dist worksteal

adversary: $(STAMP)  ## fit every solver on badly scaled problems and check its certificates; ADVERSARY_SEED replays
	$(BIN)/python -m tests.adversary.sweep

soak: $(STAMP)  ## start, kill, stop and starve runs for half an hour: results stay as they were; SOAK_SEED replays
	$(BIN)/python -m tests.soak.starts 10000 8
	$(BIN)/python -m tests.soak.memory
	$(BIN)/python -m tests.soak $(SOAK_SEED)

# Machine code with bounds checks needs a cache of its own: numba's does not tell the two apart. These tests reach every
# compiled loop.
READERS := clus formats growth impute libsvm meka missing_at_random mulan numbers refusals tabular tsv xmc
SOLVERS := bknn contract mlr rank_hlapsvm rank_svm svm_perf
COMPILED := $(READERS:%=tests/datasets/test_%.py) $(SOLVERS:%=tests/solvers/test_%.py) tests/fuzz tests/graphs tests/metrics \
	tests/test_kernels.py tests/test_linalg.py

bounds: export NUMBA_BOUNDSCHECK := 1
bounds: export NUMBA_CACHE_DIR := $(CURDIR)/$(VENV)/bounds
bounds: $(STAMP)  ## run the tests of compiled loops with every index checked
	$(BIN)/pytest -n auto --dist worksteal $(COMPILED)

# SECONDS or ROUNDS end it; the seed that it prints repeats it.
SECONDS := 3600
fuzz: $(STAMP)  ## read hostile files, models and configurations for an hour (SECONDS=600 SEED=5 ROUNDS=1 EXAMPLES=300)
	$(BIN)/python -m tests.fuzz.run --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(EXAMPLES),--examples $(EXAMPLES))

coverage: $(STAMP)  ## run the tests and list the lines that none of them reaches
	$(BIN)/pytest -n auto --dist worksteal --cov --cov-report=term

# Python 3.11 is the lowest too. Other than in the tests, warnings are no errors: old releases give some with new ones of
# what they need.
LOWEST := $(VENV)/lowest
SMOKE := tests/config tests/tables tests/datasets/test_any_data.py tests/test_portability.py tests/test_processes.py

$(LOWEST)/.installed: $(STAMP)
	$(BIN)/uv venv --quiet --clear --python 3.11 $(LOWEST)
	$(BIN)/uv pip install --quiet --python $(LOWEST) --resolution lowest-direct --editable '.[dev]'
	@touch $@

lowest: export NUMBA_CACHE_DIR := $(CURDIR)/$(LOWEST)/numba
lowest: $(LOWEST)/.installed  ## run the example and some tests with the lowest versions that pyproject.toml declares
	rm -rf $(LOWEST)/results
	$(LOWEST)/bin/mlrank train configs/quickstart.yaml --results $(LOWEST)/results
	$(LOWEST)/bin/pytest -n auto --dist worksteal -o filterwarnings=default -p no:cacheprovider $(SMOKE)

bench: $(STAMP)  ## measure speed against the obvious alternatives
	$(BIN)/pytest tests/benchmarks -s -o addopts=

$(VENV)/.docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

docs: $(VENV)/.docs  ## build the pages of docs/ into docs/build, warnings as errors
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/build

reproduce: $(STAMP)  ## the example experiment on embedded data, then Table 1 of the Rank-HLapSVM paper
	$(BIN)/mlrank train configs/quickstart.yaml
	$(BIN)/mlrank reproduce imageclef

clean:  ## remove .venv and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .coverage build dist docs/build docs/copied docs/gallery docs/api docs/examples/results
