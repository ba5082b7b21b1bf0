# `make` lists the targets. Everything runs on this machine; only `deploy` needs an AWS account.

PYTHON ?= python3
UV_VERSION := 0.13.9
VENV := .venv
BIN := $(VENV)/bin
SOURCES := functions layers/core/python local tests benchmarks
SAM := .venv-sam/bin/sam

# The newest runtime that the template is deployed on, and where it may be found besides.
PYTHON313 ?= python3.13
TESTS_313 ?= tests/unit tests/property tests/statemachine tests/infrastructure tests/contract

export SAM_CLI_TELEMETRY := 0
export AWS_DEFAULT_REGION ?= us-east-1
# pyright's wrapper must not look for a newer release or another Node.js on its own.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.DEFAULT_GOAL := help
.PHONY: help setup demo up down test test-313 test-long check fmt lint types infrastructure build validate \
	bench crash-test crash-doc demo-crash deploy clean

help:
	@echo "No Undo: make TARGET"
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# --- environments ---------------------------------------------------------------------------------

setup: $(BIN)/.installed .venv-emulator/.installed .venv-sam/.installed ## make the three environments

$(BIN)/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) --version 2>&1)." >&2; \
		echo "Name another one: make $(MAKECMDGOALS) PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "setup: $(VENV)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

$(BIN)/.installed: requirements/dev.txt pyproject.toml layers/dependencies/requirements.in | $(BIN)/uv
	@$(BIN)/uv pip sync --quiet --require-hashes --python $(BIN)/python requirements/dev.txt
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --editable .
	@touch $@

.venv-%/.installed: requirements/%.txt | $(BIN)/uv
	@echo "setup: .venv-$*"
	@test -x .venv-$*/bin/python || $(BIN)/uv venv --quiet --python $(BIN)/python .venv-$*
	@$(BIN)/uv pip sync --quiet --require-hashes --python .venv-$*/bin/python requirements/$*.txt
	@touch $@

# --- run ------------------------------------------------------------------------------------------

demo: setup ## run the main job unattended, from request to signed PDF
	@$(BIN)/python -m local.demo

demo-crash: setup ## the same, with the sender killed in the middle of the send
	@$(BIN)/python -m local.demo --crash

up: setup ## start the stack and keep it up; prints its addresses
	@$(BIN)/python -m local.stack up

down: ## stop what `up` started
	@test ! -e $(BIN)/.installed || $(BIN)/python -m local.stack down

# --- prove ----------------------------------------------------------------------------------------

test: setup ## every test except the exhaustive variants
	@$(BIN)/python -m pytest -m "not long and not e2e_aws"

test-313: setup ## the tests that need no emulator, on a python3.13 where one is found
	@found=; for one in "$(PYTHON313)" "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/3.13*/bin/python; do \
		"$$one" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 13))' 2>/dev/null \
			&& { found=$$one; break; }; \
	done; \
	if [ -z "$$found" ]; then \
		echo "test-313: SKIPPED, no python3.13 found; name one: make test-313 PYTHON313=/path/to/it"; \
	else \
		echo "test-313: $$("$$found" --version)"; \
		test -x .venv-313/bin/python || $(BIN)/uv venv --quiet --python "$$found" .venv-313; \
		$(BIN)/uv pip sync --quiet --require-hashes --python .venv-313/bin/python requirements/dev.txt && \
		$(BIN)/uv pip install --quiet --python .venv-313/bin/python --no-deps --editable . && \
		.venv-313/bin/python -m pytest -q -m "not long and not e2e_aws" $(TESTS_313); \
	fi

test-long: setup ## every test, the exhaustive variants too
	@$(BIN)/python -m pytest -m "not e2e_aws"

crash-test: setup ## the crash matrix: every window, every vendor behaviour
	@$(BIN)/no-undo crash-test

crash-doc: setup ## measure the figures of docs/crash-lab.md again and write them there
	@$(BIN)/python -m tests.crash.document --write

bench: setup ## measure, and write benchmarks/results/
	@$(BIN)/python -m benchmarks

# --- check ----------------------------------------------------------------------------------------

check: lint types infrastructure ## lint, types, import rules, template and state machine

lint: setup ## ruff, formatting and the import rules
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports

types: setup ## mypy and pyright, both strict
	@$(BIN)/mypy
	@$(BIN)/pyright

infrastructure: setup validate ## template, roles and state machine
	@$(BIN)/cfn-lint template.yaml
	@$(BIN)/python -m pytest -q tests/infrastructure

validate: setup ## sam validate --lint, offline
	@$(SAM) validate --lint --template-file template.yaml

fmt: setup ## format and fix what can be fixed safely
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

# --- ship -----------------------------------------------------------------------------------------

build: setup ## sam build for Lambda; needs the template's Python on PATH
	@$(SAM) build --template-file template.yaml

deploy: build ## sam deploy --guided; needs an AWS account and its credentials
	@$(SAM) deploy --guided

clean: down ## remove environments, builds and local state
	@rm -rf .venv .venv-313 .venv-emulator .venv-sam .aws-sam .local build *.egg-info
