# Everything that a person or CI runs. `make help` lists it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.installed
PYTEST := $(BIN)/python -m pytest

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Ergonaut needs Python 3.11 or later; set PYTHON=<path of one>")'
	@$(PYTHON) -m venv $(VENV) || { echo "python3 -m venv failed: install your system's venv package (Debian: python3-venv)" >&2; exit 1; }
	@echo "installing packages into $(VENV)"
	@$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

.PHONY: setup
setup: $(READY) ## make the environment .venv from requirements.lock

.PHONY: lock
lock: ## write requirements.lock anew from pyproject.toml (needs uv)
	uv pip compile pyproject.toml --universal --python-version 3.11 --all-extras --group dev \
		--generate-hashes --no-emit-index-url --no-header --quiet -o requirements.lock

.PHONY: ergo
ergo: setup ## find or build the IRC server; prints its path
	@$(BIN)/python -m controller.local.ergo_binary

.PHONY: demo
demo: setup ## one task from !new to done on this machine, shown as a person sees it
	@$(BIN)/agent-controller demo

.PHONY: run
run: setup ## ergo and controller on this machine until Ctrl-C
	@exec $(BIN)/agent-controller local

.PHONY: test
test: setup ergo ## the fast lane, a real server included
	$(PYTEST) -m "not slow and not sandbox" -n 2 --dist worksteal

.PHONY: test-slow
test-slow: setup ergo ## whole-system stories
	$(PYTEST) -m "slow and not sandbox"

.PHONY: test-sandbox
test-sandbox: setup ## tools inside bubblewrap; needs `bwrap`
	$(PYTEST) -m sandbox

.PHONY: bench
bench: setup ergo ## latencies, each beside a bare echo bot on the same server
	@$(BIN)/python -m tests.bench

.PHONY: chaos
chaos: setup ergo ## kill, freeze and cut while people work; CHAOS_ROUNDS=<n> CHAOS_SEED=<n>
	@$(BIN)/python -m tests.chaos

.PHONY: format
format: setup ## rewrite the sources in the house format
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

.PHONY: lint
lint: setup ## format and lint, changing nothing
	$(BIN)/ruff format --check
	$(BIN)/ruff check

.PHONY: types
types: setup ## mypy, strict
	$(BIN)/mypy

.PHONY: imports
imports: setup ## the layer contracts
	$(BIN)/lint-imports

.PHONY: docs
docs: setup ## fail if a generated table in docs/ is stale
	$(BIN)/python -m docs.build --check

.PHONY: check
check: lint types imports docs test test-sandbox test-slow ## everything that CI runs

.PHONY: clean
clean: ## remove the environment and caches; keeps ERGONAUT_HOME
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
