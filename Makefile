# Anabranch: `make` lists the targets. Only Python 3.10–3.12, Java 17 or 21 and make are needed.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help install demo test test-long test-cluster soak check format bench bench-cli lock clean

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

demo: install ## Bring the stack up, run the story, take the stack down
	@$(BIN)/anabranch demo

test: install ## Run the test suite on a real broker, Spark and Iceberg (six minutes)
	$(BIN)/pytest -n 2 --dist loadscope

test-long: install ## What takes longer: processes killed at every named point, whole stories, seeded faults
	$(BIN)/pytest -m long -n 2 --dist loadscope

test-cluster: install ## Tests with three brokers and a Spark standalone cluster
	$(BIN)/pytest -m cluster

soak: install ## The same promises for longer: more examples, more promotions under fire, more kills
	HYPOTHESIS_PROFILE=soak $(BIN)/pytest -m "not cluster" tests/conformance tests/integration/promote tests/integration/live tests/crash tests/unit/plan

check: $(READY) ## Lint, types and import direction
	$(BIN)/ruff check src tests tools bench examples
	$(BIN)/ruff format --check src tests tools bench examples
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY) ## Format the code and mend what ruff can mend
	$(BIN)/ruff check --fix src tests tools bench examples
	$(BIN)/ruff format src tests tools bench examples

bench-cli: $(READY) ## Time of `anabranch --help`, as a ratio to `python -c pass`
	@$(BIN)/python -m bench.cli_help

bench: install ## Measurements as ratios, into build/bench.json and build/bench.svg (an hour)
	@for part in cli_help plan_vs_scan retention_audit replay lifecycle live_lag scale rehearsal chart; do \
		$(BIN)/python -m bench.$$part || exit 1; done

lock: $(READY) ## Resolve Python and Maven dependencies anew and write both lock files
	@$(BIN)/python -m pip install --quiet uv
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.10 --generate-hashes --no-emit-index-url \
		--no-header --group dev pyproject.toml --output-file requirements.lock
	@$(BIN)/python tools/lock_artifacts.py

clean: ## Remove the virtual environment and what was built (caches of downloads stay)
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
