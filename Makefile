# Everything a person runs. Each target sets up what it needs; a second run takes no set-up time.
.DEFAULT_GOAL := help
SHELL := /bin/sh
# The first Python that runs and is new enough; a name on PATH may be a shim that does not run.
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13 python3.14; do $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
# What setup installs: dev; or, to only run modelyard, runtime, or aws with pulumi-aws.
LOCK ?= dev
BIN := .venv/bin
READY := .venv/.$(LOCK)

.PHONY: help setup demo bytecode test test-slow golden test-browser mutants lint lab up down test-lab test-lab-quick bench docs lock clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## make .venv with modelyard in it; LOCK=runtime or LOCK=aws leaves out what only its developers need

# Bytecode is written once here, so that the first command is as quick as the second. Each lock includes the runtime's.
.venv/.%: requirements/%.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "error: no Python 3.11 or newer on PATH; install one or set PYTHON=/path/to/python" >&2; exit 2; }
	@echo "setting up .venv (about a minute, once)"
	@"$(PYTHON)" -m venv --clear .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/$(LOCK).txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m pip uninstall --quiet --yes setuptools # its .pth file would run at every start
	@$(BIN)/python -m compileall -q .venv modelyard >/dev/null || true
	@touch .venv/.runtime $@

demo: .venv/.runtime ## plan the three example stacks offline and write their patches
	@$(BIN)/modelyard plan --all
	@echo
	@$(BIN)/modelyard render --all

lint: $(READY) ## ruff, mypy --strict, the import contracts, and the words of the glossary
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python docs/prose.py

# The fast tests write 100,000 small files. In memory, each takes a tenth of the time. Tests also run programs there.
MEMORY = $(shell ! grep -q ' /dev/shm .*noexec' /proc/mounts 2>/dev/null && \
  [ "$$(df -Pk /dev/shm 2>/dev/null | awk 'END {print $$4}')" -gt 4000000 ] 2>/dev/null && echo /dev/shm || echo /tmp)

# Tests start the command line hundreds of times. Where PYTHONDONTWRITEBYTECODE is set, as in many containers, each start
# would compile what was edited since the setup: a third of the time of a plan, an eighth of that of an apply.
bytecode: $(READY)
	@$(BIN)/python -m compileall -q modelyard components policies lab

# Nor would pytest keep the tests as it compiles them: eight seconds for each process.
TEST = PYTHONDONTWRITEBYTECODE= TMPDIR="$${TMPDIR:-$(MEMORY)}" $(BIN)/pytest -q -n auto -o tmp_path_retention_policy=failed \
  --ignore tests/lab --ignore tests/browser

test: lint bytecode ## lint, then the fast tests
	@$(TEST) -m "not slow and not lab and not browser"

test-slow: bytecode ## the slow tests: every command with damaged files and secrets, commands in pages, CI examples
	@$(TEST) -m slow

# One process writes all sections of a file.
golden: $(READY) ## write the texts in tests/golden and the precompiled patches again; read the difference in review
	@GOLDEN=write $(BIN)/pytest -q -n auto --dist loadfile $$(grep -rlwi golden tests --include='test_*.py')

test-browser: $(READY) ## the tests of pages: the site, and reports in headless Chromium (Debian: apt-get install chromium)
	@$(BIN)/pytest -q -m browser

# In a folder of its own: what it needs would otherwise be in everybody's environment.
build/mutants/tools: requirements/mutants.txt $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --upgrade --target $@ -r $<
	@touch $@

mutants: build/mutants/tools ## run 400 small faults of the code against the unit tests (about an hour; goes on where it stopped)
	@PYTHONPATH="$(CURDIR)/$<" $(BIN)/python benchmarks/mutants.py $(AGAIN)

lab: bytecode ## build the lab's missing tools (25 minutes the first time, then seconds)
	@ln -sf ../../lab/modelyard-lab $(BIN)/modelyard-lab
	@$(BIN)/modelyard-lab build

# Pulumi writes its salt into the stack file, and the recorded platform is of another cluster: so it works on a copy.
DEMO := .lab/project

up: lab ## start a lab, install the vendor's platform, run pulumi up for dev, show the result
	@$(BIN)/modelyard-lab up --lab dev
	@$(BIN)/modelyard-lab install dev --lab dev
	@rm -rf $(DEMO) && mkdir -p $(DEMO) && cp -R Pulumi.yaml stacks patches $(DEMO) && ln -s "$(CURDIR)/.venv" $(DEMO)/.venv
	@eval "$$($(BIN)/modelyard-lab env --lab dev)" && PATH="$(CURDIR)/$(BIN):$$PATH" && cd $(DEMO) && \
	modelyard record dev && modelyard plan dev && \
	pulumi stack select --create dev && pulumi up --stack dev --yes --skip-preview && \
	kubectl --namespace ml-platform get deployments --output \
	  'custom-columns=DEPLOYMENT:.metadata.name,READY:.status.readyReplicas,PATCHES:.metadata.annotations.modelyard\.dev/patches' && \
	kubectl --namespace ml-platform get pods --output wide
	@echo
	@echo 'Next: eval "$$($(BIN)/modelyard-lab env --lab dev)"; cd $(DEMO); ../../$(BIN)/modelyard plan dev --live'
	@echo 'Then: make down'

down: ## stop the labs of this clone and remove their data
	@if [ -x $(BIN)/modelyard-lab ]; then $(BIN)/modelyard-lab down --all --delete; fi
	@rm -rf $(DEMO)

# The store of a lab is 130 MB, and there are dozens: only those of failed tests are kept.
test-lab: lab ## the tests on the real engine and API server
	@$(BIN)/pytest -q -n 3 --dist loadfile -o tmp_path_retention_policy=failed -m lab

# A sixteenth of the rounds of the fuzzer; everything else is as in test-lab.
test-lab-quick: lab ## one test for each subject of the lab tests, for daily work: under eight minutes on two cores
	@MODELYARD_FUZZ_SEEDS=1 MODELYARD_FUZZ_ROUNDS=500 $(BIN)/pytest -q -n 3 --dist loadfile -o tmp_path_retention_policy=failed -m quick tests/lab

bench: lab ## measure against kubectl, Helm and Pulumi in one run; prints the table of docs/performance.md
	@$(BIN)/python benchmarks/table.py

docs: $(READY) ## make the generated pages, shown output and pictures again; build the site into build/site
	@$(BIN)/python docs/generate.py
	@$(BIN)/python docs/commands.py
	@$(BIN)/python docs/picture.py
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

lock: ## resolve the dependencies again, with hashes
	@uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url --group dev --extra aws pyproject.toml -o requirements/dev.txt
	@uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url --group build --constraint requirements/dev.txt pyproject.toml -o requirements/runtime.txt
	@uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url --group build --constraint requirements/dev.txt --extra aws pyproject.toml -o requirements/aws.txt
	@uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url --group pyproject.toml:jobs -o requirements/jobs.txt
	@uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url --group pyproject.toml:notebooks -o requirements/notebooks.txt
	@uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url --constraint requirements/dev.txt --group pyproject.toml:mutants -o requirements/mutants.txt

clean: ## remove what the targets made inside the repository
	@rm -rf .venv out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
