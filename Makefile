# Each target does all of its own set-up: `make demo` and `make test` work on a fresh clone.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
CORES := $(shell nproc 2>/dev/null || echo 2)
# One test process per core with one thread each: two torch processes that share cores slow each other down tenfold.
PYTEST := OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive $(BIN)/pytest -n $(CORES)

.PHONY: help demo test test-slow test-all debian lint format types bench docs setup setup-dev clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 12

demo: setup  ## train a classifier on photographs that come along, corrupt them, write a report to look at
	$(BIN)/weatherproof demo

test: setup-dev debian  ## the tests that take seconds each
	$(PYTEST) -m "not slow"

test-slow: setup-dev debian  ## the tests that take longer
	$(PYTEST) -m slow

test-all: test test-slow  ## all tests

debian:  ## Chromium and ImageMagick, for tests that skip without them (done where one may; takes root)
	@scripts/install_debian

lint: setup-dev  ## style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: setup-dev  ## bring the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: setup-dev  ## mypy, strict
	$(BIN)/mypy

bench: setup-dev  ## speed, as ratios measured side by side; run it with nothing else running
	$(BIN)/python -m benchmarks

docs: setup-dev  ## write the generated pages of docs/
	$(BIN)/python scripts/build_docs.py

setup: $(VENV)/installed  ## the environment alone
setup-dev: $(VENV)/installed-dev  ## the environment with what tests need

#: byte code is written when a module is first used; doing it for all of torch takes longer than the rest.
$(VENV)/installed: pyproject.toml
	@PYTHON="$(PYTHON)" VENV="$(VENV)" scripts/make_venv
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

clean:  ## remove the environment and caches; runs stay
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
