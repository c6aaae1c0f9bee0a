# Everything a fresh machine needs is Python 3.11 or newer (with venv) and make.
PYTHON ?= python3
ENV ?= dev
VENV := .venv
BIN := $(VENV)/bin
SCANNER := .venv-checkov
ENGINE := .venv-dynamo
CONFIGURATOR := .venv-aiconfigurator

.DEFAULT_GOAL := help
.PHONY: help synth plan check test lint types checkov scanner dynamo aiconfigurator validation bench moto clean

help:
	@echo "make synth ENV=prod  set up, then write Terraform JSON for environments/prod.yaml into cdktf.out (default: dev)"
	@echo "make plan ENV=prod   set up, then print the plan of environments/prod.yaml (default: dev)"
	@echo "make check ENV=prod  set up, then check it"
	@echo "make test            set up, then lint, type-check and run every test"
	@echo "make checkov         set up checkov in .venv-checkov, then check every stack of every environment with it"
	@echo "make dynamo          set up Dynamo in .venv-dynamo: simulate, size, retune and rehearse use it, and make test"
	@echo "make aiconfigurator  set up aiconfigurator in .venv-aiconfigurator: profile make uses it"
	@echo "make validation      write docs/validation.md: predictions beside published measurements"
	@echo "make bench           measure: sizing, check, plan, synth, review, growth with fleet size, prebuilt bindings beside ours"

$(VENV)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "inferfab needs Python 3.11 or newer; say which one: make PYTHON=python3.12 …" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

# Pinned by constraints.txt, so that a plan is the same on every machine.
$(VENV)/installed: $(VENV)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/tested: $(VENV)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	@touch $@ $(VENV)/installed

# checkov pins an old boto3, so it has an environment of its own. `make test` uses it where it is there.
$(SCANNER)/installed: constraints-checkov.txt
	$(PYTHON) -m venv $(SCANNER)
	$(SCANNER)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-checkov.txt checkov
	@touch $@

scanner: $(SCANNER)/installed

synth: $(VENV)/installed
	@$(BIN)/inferfab synth $(ENV)

plan: $(VENV)/installed
	@$(BIN)/inferfab plan $(ENV)

check: $(VENV)/installed
	@$(BIN)/inferfab check $(ENV)

lint: $(VENV)/tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/tested
	$(BIN)/mypy

test: lint types
	$(BIN)/pytest -n auto --dist loadgroup

checkov: $(VENV)/tested $(SCANNER)/installed
	CHECKOV=$(SCANNER)/bin/checkov $(BIN)/pytest -n auto --dist loadgroup tests/stacks/test_checkov_stacks.py tests/aws/test_checkov_*.py

# Dynamo's processes, simulator and argument parsers, without the rest of what Dynamo runs on: the file lists all that
# they import, hence --no-deps. `make test` uses them where they are.
$(ENGINE)/installed: constraints-dynamo.txt
	$(PYTHON) -m venv $(ENGINE)
	$(ENGINE)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r constraints-dynamo.txt
	@touch $@

dynamo: $(ENGINE)/installed

# 850 MB with its measurements of kernels; only new performance profiles need it.
$(CONFIGURATOR)/installed: constraints-aiconfigurator.txt
	$(PYTHON) -m venv $(CONFIGURATOR)
	$(CONFIGURATOR)/bin/python -m pip install --quiet --disable-pip-version-check -r constraints-aiconfigurator.txt
	@touch $@

aiconfigurator: $(CONFIGURATOR)/installed

validation: $(VENV)/tested $(ENGINE)/installed
	$(BIN)/python -m tools.validation

bench: $(VENV)/tested $(ENGINE)/installed
	$(BIN)/python -m benchmarks.sizing
	$(BIN)/python -m benchmarks.fleet
	$(BIN)/python -m benchmarks.synth
	$(BIN)/python -m benchmarks.review

# Its own environment: moto brings sixty packages that nothing else needs. For tools/plan_against_moto.py.
moto: .venv-moto/installed

.venv-moto/installed: constraints-moto.txt
	$(PYTHON) -m venv .venv-moto
	.venv-moto/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-moto.txt 'moto[server]'
	@touch $@

# The state of a bootstrap stack is beside it until it has moved into the bucket. Killed runs of synth and bootstrap
# leave .NAME.XXXXXXXX (or .NAME.earlier.XXXXXXXX) with our marker or the engine's manifest in it.
clean:
	@! find cdktf.out .*.???????? -name '*.tfstate' -not -path '*/.terraform/*' -size +0 2>/dev/null | grep . || \
		{ echo "that is Terraform state: see docs/deploy.md, then delete it by hand" >&2; exit 1; }
	rm -rf $(VENV) $(SCANNER) $(ENGINE) $(CONFIGURATOR) .venv-moto cdktf.out .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@for left in .*.????????; do \
		if [ -f "$$left/.inferfab-run" ] || { [ -f "$$left/manifest.json" ] && [ -d "$$left/stacks" ]; }; then \
			rm -rf "./$$left"; \
		fi; \
	done
