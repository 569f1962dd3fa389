# Everything a person runs. Each target sets up what it needs; a second run takes no set-up time.
.DEFAULT_GOAL := help
SHELL := /bin/sh
# The first Python that runs and is new enough; a name on PATH may be a shim that does not run.
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13 python3.14; do $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
BIN := .venv/bin
READY := .venv/.ready

.PHONY: help setup demo test lint lab up down test-lab bench lock clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## make .venv with modelyard in it

# Bytecode is written once here, so that the first command is as quick as the second.
$(READY): requirements/dev.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "error: no Python 3.11 or newer on PATH; install one or set PYTHON=/path/to/python" >&2; exit 2; }
	@echo "setting up .venv (about a minute, once)"
	@"$(PYTHON)" -m venv --clear .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q .venv modelyard >/dev/null || true
	@touch $@

lint: $(READY) ## ruff, mypy --strict and the import contracts
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache

test: lint ## lint, then the fast tests
	@$(BIN)/pytest -q -n auto -m "not lab"

lock: ## resolve the dependencies again, with hashes
	@uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url --group dev pyproject.toml -o requirements/dev.txt

clean: ## remove what the targets made inside the repository
	@rm -rf .venv out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
