# Anabranch: `make` lists the targets. Only Python 3.10–3.12, Java 17 or 21 and make are needed.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help install demo test test-long test-cluster soak check format errors monitoring pictures recording bench bench-cli lock clean

help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(READY) ## Create the virtual environment and fetch the locked Maven artifacts
	@$(BIN)/anabranch dev fetch

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) tools/prerequisites.py
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing the locked Python dependencies (about 600 MB the first time) …"
	@$(BIN)/python -m pip install --disable-pip-version-check --quiet --progress-bar on --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation --no-index --editable .
	@touch $@

demo: install ## Run two backfills from bug to proof on an embedded stack
	@$(BIN)/anabranch demo

test: install ## Run the test suite on a real broker, Spark and Iceberg
	$(BIN)/pytest -n 2 --dist loadscope

test-long: install ## Run the long tests: processes killed at every crash point, whole lifecycles, injected faults
	$(BIN)/pytest -m long -n 2 --dist loadscope

test-cluster: install ## Run the tests with three brokers and a Spark standalone cluster
	$(BIN)/pytest -m cluster

soak: install ## Run the tests of the promises with more examples, promotions beside live and kills
	HYPOTHESIS_PROFILE=soak $(BIN)/pytest -m "not cluster" tests/conformance tests/integration/promote tests/integration/live tests/crash tests/unit/plan

check: $(READY) ## Check lint rules, formatting, types and import direction
	$(BIN)/ruff check src tests tools bench examples
	$(BIN)/ruff format --check src tests tools bench examples
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY) ## Format the code and fix what ruff can fix
	$(BIN)/ruff check --fix src tests tools bench examples
	$(BIN)/ruff format src tests tools bench examples

errors: $(READY) ## Write docs/errors.md, the table of error codes, from the source
	@$(BIN)/python -m tools.error_codes

monitoring: $(READY) ## Write the Grafana dashboard, and the tables of docs/monitoring.md
	@$(BIN)/python -m tools.dashboard
	@$(BIN)/python -m tools.metrics_table

pictures: $(READY) ## Write docs/validation.png, the validation page of sample data (needs chromium)
	@$(BIN)/python -m tools.pictures

recording: install ## Run the demo and write its output to docs/demo.svg
	@$(BIN)/python -m tools.recording

bench-cli: $(READY) ## Measure the time of `anabranch --help`, as a ratio to `python -c pass`
	@$(BIN)/python -m bench.cli_help

bench: install ## Measure ratios into build/bench.json and build/bench.svg (an hour and a half)
	@for part in cli_help plan_vs_scan retention_audit replay lifecycle live_lag live_latency scale rehearsal chart; do \
		$(BIN)/python -m bench.$$part || exit 1; done

lock: $(READY) ## Resolve Python and Maven dependencies and write both lock files
	@$(BIN)/python -m pip install --quiet uv
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.10 --generate-hashes --no-emit-index-url \
		--no-header --group dev pyproject.toml --output-file requirements.lock
	@$(BIN)/python tools/lock_artifacts.py

clean: ## Remove the virtual environment and build output; keep download caches
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
