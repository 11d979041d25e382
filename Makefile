# Every target sets up what it needs, in .venv, on a machine that has python3, git and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: help setup demo test test-fleet simulate simulate-soak test-real test-web page page-pictures demo-page drill agents retest screens openapi lint bench soak lock clean

help:            ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "rekindle needs Python 3.11 or newer: make PYTHON=python3.11 $(MAKECMDGOALS)" >&2; exit 2; }
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(STAMP)

setup: $(STAMP)  ## create .venv with the locked dependencies

demo: $(STAMP)   ## the main job, shown in a scratch repository
	@$(BIN)/python -m demo

demo-page: $(STAMP) page ## the same story on the web page
	@$(BIN)/python -m demo.on_page

# Three workers for two cores: they wait for processes and timers about as often as they compute.
WORKERS ?= $(shell echo $$(( ($$(nproc) * 3 + 1) / 2 )))
test: $(STAMP)   ## all tests but those with real agents, in a browser and of a fleet
	@$(BIN)/python -m pytest -n $(WORKERS) --ignore tests/real --ignore tests/web --ignore tests/fleet

test-fleet: $(STAMP) ## hosts that share a store: real daemons in network namespaces, a real PostgreSQL, a real Temporal
	@$(BIN)/python -m pytest -n 2 -rs tests/fleet

simulate: $(STAMP) ## two minutes of stories in virtual time: kept ones first, then the same seeds every time
	@$(BIN)/python -m tests.simulate --seeds 1800 --seconds 90 --processes 2

SEEDS ?= 100000
simulate-soak: $(STAMP) ## fresh stories that nobody has played yet: make simulate-soak SEEDS=100000
	@$(BIN)/python -m tests.simulate --fresh --seeds $(SEEDS) --processes 2

agents: tests/real/node_modules/.package-lock.json tests/real/newest/node_modules/.package-lock.json ## the real agents of the tests, from npm, as locked

%/node_modules/.package-lock.json: %/package-lock.json
	@cd $* && npm install --no-save --ignore-scripts --no-audit --no-fund --loglevel error
	@touch $@

test-real: $(STAMP) ## the tests with real agents against a mock model; nothing but loopback is reachable
	-@$(MAKE) --no-print-directory agents
	@$(BIN)/python -m pytest tests/real

drill: $(STAMP)  ## the drill with every real agent that can run offline
	-@$(MAKE) --no-print-directory agents
	@REKINDLE_DRILL=all $(BIN)/python -m pytest tests/real/test_drill.py

PAGE := src/rekindle/page/index.html
page: $(PAGE)    ## build the web page into src/rekindle/page, with Node from PyPI and packages from npm
$(PAGE): $(STAMP) hatch_build.py $(wildcard web/*.json web/*.html web/*.ts web/public/*) $(shell find web/src -type f)
	@$(BIN)/python hatch_build.py
	@touch $(PAGE)

test-web: $(STAMP) ## the page: its units, and in Debian's Chromium with a real daemon and scripted agents
	-@$(MAKE) --no-print-directory page
	@if [ -d web/node_modules ]; then $(BIN)/python hatch_build.py test; else echo "SKIPPED: npm could not be reached, so the page's units are not tested"; fi
	@$(BIN)/python -m pytest -n 2 tests/web -rs

page-pictures: page ## write the pictures in docs/page anew
	@REKINDLE_WRITE_SCREENS=1 $(BIN)/python -m pytest -n 0 tests/web/test_views.py

retest: $(STAMP) ## the tests that failed last time, one by one
	@$(BIN)/python -m pytest -n 0 --last-failed --last-failed-no-failures none

screens: $(STAMP) ## write the agreed screens and their pictures anew, after a change that was meant
	@REKINDLE_WRITE_SCREENS=1 $(BIN)/python -m pytest -n 0 tests/golden/test_screens.py tests/e2e/test_terminal_screens.py

openapi: $(STAMP) ## write the description of the HTTP API anew: web/openapi.json
	@$(BIN)/python -m rekindle.doors.http.describing web/openapi.json

lint: $(STAMP)   ## ruff, mypy --strict, the import rule
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

MINUTES ?= 14
bench: $(STAMP)  ## ratios against references in one run: make bench [ROWS="cold ps"]; writes bench/results.json, docs/benchmarks.md
	@$(BIN)/python -m bench --minutes $(MINUTES) $(ROWS)

soak: $(STAMP)   ## long random runs
	@REKINDLE_TEST_PROFILE=soak $(BIN)/python -m pytest -m soak --timeout 3600
	@REKINDLE_TEST_PROFILE=soak $(BIN)/python -m pytest tests/property --timeout 3600

lock: $(STAMP)   ## renew requirements.lock (needs uv: pip install uv)
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --all-extras -o requirements.lock pyproject.toml

clean:           ## remove .venv and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
