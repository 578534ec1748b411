# `make demo` and `make test` need only Python >= 3.11 and make: each builds its own virtual environment.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: demo test coverage lint bench format clean docs wheel test-wheel fuzz audit explorer

demo: $(VENV)/.installed
	$(BIN)/thresher demo

test: lint
	$(BIN)/python -m pytest -n auto --dist loadgroup

# To trace every line takes half as long again, and audits run one line many thousand times.
coverage: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n auto --dist loadgroup --cov --ignore tests/audit

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks

format: $(VENV)/.installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The site, in build/site. A broken link or an undocumented name fails it.
docs: $(VENV)/.installed-docs
	$(BIN)/mkdocs build --strict --quiet

# The script and style of the page, from explorer/ into the package. Needs node 20; what it builds is committed.
explorer:
	cd explorer && npm ci --silent && npm run --silent build

wheel: $(VENV)/.installed-docs
	rm -rf dist
	$(BIN)/python -m build --wheel --outdir dist

# The tests on the wheel, in an environment of their own that does not see src/.
test-wheel: wheel
	rm -rf build/wheel
	$(PYTHON) -m venv build/wheel
	build/wheel/bin/python -m pip install --quiet "$$(ls dist/*.whl)[test]"
	build/wheel/bin/python -m pytest -n auto --dist loadgroup tests

# Fuzzing and killed fits, with TIMES as many examples as in the suite.
TIMES ?= 100
fuzz: $(VENV)/.installed-dev
	THRESHER_FUZZ=$(TIMES) $(BIN)/python -m pytest -n auto --dist loadgroup $$(grep -rl --include=*.py THRESHER_FUZZ tests)

# The audits of whole mechanisms that catch an overspend of 1.5: half an hour on two cores.
audit: $(VENV)/.installed-dev
	THRESHER_AUDIT=1 $(BIN)/python -m pytest -n auto tests/audit/test_transcripts.py

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.installed-dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[test,lint]'
	touch $@ $(VENV)/.installed

$(VENV)/.installed-docs: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) .coverage* .mypy_cache .pytest_cache .ruff_cache .hypothesis
