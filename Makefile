# `make demo` shows Lifeguard on a real cluster; `make test` runs every test. Both install what is missing.
SHELL := /bin/bash
PYTHON3 ?= python3
PYTHON := .venv/bin/python
STACK := $(PYTHON) -m deploy.teststack run --
PYTEST_ARGS ?=
# How many processes run the tests; 0: this one alone, one test after the other.
PROCESSES ?= 2

.DEFAULT_GOAL := help
.PHONY: help setup setup-tests demo demo-up down reset demo-fault test test-fast lint format bench bench-many bench-durability bench-statistics bench-same-load chaos screenshots lock

help: ## say what can be asked for
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 22

setup: ## install what running needs
	@$(PYTHON3) -m deploy.setup

setup-tests: ## install what running and testing need
	@$(PYTHON3) -m deploy.setup --with-tests

demo: setup ## show Lifeguard on a real cluster, until Ctrl-C
	@exec $(PYTHON) -m deploy.demo run

demo-up: setup ## the same in the background
	@$(PYTHON) -m deploy.demo up

down: ## stop the demo; what it knows is kept
	@if [ -x $(PYTHON) ]; then $(PYTHON) -m deploy.demo down; else echo "Nothing was set up here."; fi

reset: ## stop the demo and forget what it knows
	@if [ -x $(PYTHON) ]; then $(PYTHON) -m deploy.demo reset; else echo "Nothing was set up here."; fi

demo-fault: ## break something in the running demo and see it noticed
	@$(PYTHON) -m deploy.demo fault $(FAULT)

test: setup-tests ## run every test: Python, TypeScript, browser, live lab
	@$(STACK) $(PYTHON) -m pytest -n $(PROCESSES) $(PYTEST_ARGS); code=$$?; \
	if [ -n "$$PYTEST_STATUS_FILE" ]; then echo $$code > "$$PYTEST_STATUS_FILE"; else exit $$code; fi

test-fast: setup-tests ## run what needs no lab and no browser
	@$(STACK) $(PYTHON) -m pytest -n $(PROCESSES) -m "not lab and not browser and not stack and not check and not waits" $(PYTEST_ARGS)

lint: setup-tests ## run the checkers of code, types, imports and the front end
	@deploy/checks.sh

format: setup-tests ## lay the Python code out as the checkers want it
	@.venv/bin/ruff check --fix --quiet .; .venv/bin/ruff format --quiet .

bench: setup-tests ## measure rollout, detection and overhead on the running demo
	@$(PYTHON) -m deploy.bench

bench-many: setup-tests ## measure rollouts to many pgpools at once (100, or PGPOOLS=20), in demos of its own
	@$(PYTHON) -m deploy.bench.simulated $(if $(PGPOOLS),--pgpools $(PGPOOLS))
	@$(PYTHON) -m deploy.bench.many $(if $(PGPOOLS),--pgpools $(PGPOOLS))

bench-durability: setup-tests ## measure what replication modes and levels of synchronous_commit cost, in a demo of its own
	@$(PYTHON) -m deploy.bench.durability

bench-statistics: setup-tests ## look on simulated runs how often comparisons are right; needs no demo
	@$(PYTHON) -m deploy.bench.statistics
	@$(PYTHON) -m deploy.bench.nights
	@$(PYTHON) -m deploy.bench.break_even

bench-same-load: setup-tests ## look on real runs how often comparisons are right, in a lab of its own; half an hour
	@$(PYTHON) -m deploy.bench.same_load

chaos: setup-tests ## kill programs of the running demo amid 300 rollouts, and look what every pgpool runs
	@$(PYTHON) -m deploy.chaos

screenshots: setup-tests ## take the pages of the running demo, light, dark and narrow
	@$(PYTHON) -m deploy.screenshots

# uv is only needed here: `pip install uv` somewhere and put it on the PATH.
LOCK := uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-emit-find-links \
	--fork-strategy fewest --python-version 3.11 --custom-compile-command "make lock"
lock: ## resolve the libraries anew and pin them with hashes
	$(LOCK) requirements.in -o requirements.txt
	$(LOCK) requirements-dev.in -o requirements-dev.txt
