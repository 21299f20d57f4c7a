# SPDX-License-Identifier: BSD-2-Clause
# Everything a fresh machine needs: Python 3.10 or newer with venv, make, and a C++ compiler.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
MINUTES ?= 20
SEED ?= 1
WORKERS ?= auto

# In front of a command that may be silent for long: says every few seconds that it goes on.
TELLING = while sleep 4; do echo "Still installing."; done & trap "kill $$!" 0;

.PHONY: demo quick test test-long format lint types docs pictures clean

# What running, building and the demo need: the package itself with the FPGA tools.
$(VENV)/base: pyproject.toml setup.py
	@echo "Installing quintet and its FPGA tools into $(VENV): 150 MB to download, 650 MB on the disk."
	@$(TELLING) $(PYTHON) -m venv $(VENV) && $(BIN)/pip install --disable-pip-version-check -e .
	@touch $@

# What the tests, the linter and the documents need besides.
$(VENV)/stamp: $(VENV)/base
	@echo "Installing what the tests need into $(VENV): 200 MB to download, 750 MB on the disk."
	@$(TELLING) $(BIN)/pip install --disable-pip-version-check -e '.[test]'
	@touch $@

demo: $(VENV)/base
	$(BIN)/quintet demo

# All but tests of more than a second (tests/slow.txt), with a quarter of their random cases; T limits it
# to a folder or file: T=tools/compiler.
quick: $(VENV)/stamp
	QUINTET_QUICK=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not long and not slow" tests/$(T)

test: $(VENV)/stamp
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not long"

test-long: $(VENV)/stamp
	QUINTET_MINUTES=$(MINUTES) QUINTET_SEED=$(SEED) $(BIN)/python -m pytest -n $(WORKERS) -m long

format: $(VENV)/stamp
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format .

lint: $(VENV)/stamp types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	git ls-files -z '*.py' '*.md' '*.toml' | xargs -0 $(BIN)/codespell

# The checker follows names by folders, so it needs one called `quintet`.
TYPED ?= tools boards gateware firmware
types: $(VENV)/stamp
	@mkdir -p build/typing && ln -sfn ../.. build/typing/quintet
	MYPYPATH=build/typing $(BIN)/mypy $(TYPED:%=-p quintet.%)

docs: $(VENV)/stamp
	$(BIN)/python -m quintet.tools.pages.pictures
	$(BIN)/python -m quintet.tools.pages.roofline
	$(BIN)/python -m quintet.firmware.mlperf_tiny.chart
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Those that need virtual boards and a Chromium; the others are drawn by every `make docs`.
pictures: $(VENV)/stamp
	$(BIN)/python -m quintet.tools.pages.recording
	$(BIN)/python -m tests.firmware.studio.picture docs/pictures/studio.png
	$(BIN)/python -m tests.tools.report.picture docs/pictures/report.png

clean:
	rm -rf $(VENV) build dist out .quintet-cache *.egg-info
