# Two commands: `make lab` shows the product, `make test` proves it. Every target sets up what it needs by itself.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
export PATH := $(CURDIR)/.venv/bin:$(PATH)

linters := yamllint ansible-lint ruff shellcheck vermin
checks := sanity types unit docs build $(linters)
gate := @scripts/gate

.PHONY: help setup setup-lab lab lab-down test check lint $(checks) molecule vm

# their output is kept until they have ended: no place for colours
$(checks): export NO_COLOR := 1

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## install packages and .venv, as far as they are missing
	@scripts/setup check

setup-lab:
	@scripts/setup lab

PLATFORM := libvirt
lab: ## boot a lab host, prepare it with site.yml, verify it, show the report; PLATFORM=kubernetes: a pool of two nodes
	@scripts/lab-demo $(PLATFORM)

lab-down: ## end the lab hosts of `make lab`
	@tests/lab/lab down demo
	@tests/lab/lab cluster down demo-pool

test: ## everything: check, molecule, vm
	@$(MAKE) --no-print-directory check
	@$(MAKE) --no-print-directory molecule
	@$(MAKE) --no-print-directory vm

check: setup ## what needs no virtual machine: lint, types, unit, docs, sanity, build
	@echo "==> check: $(checks) (two at a time; each prints its output when it has ended)"
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target --keep-going $(checks)

lint: $(linters) ## yamllint, ansible-lint (production), ruff, shellcheck, vermin (Python 3.9 on the nodes)

yamllint: setup
	$(gate) $@ yamllint --strict .

ansible-lint: setup
	$(gate) $@ ansible-lint --strict

ruff: setup
	$(gate) $@ ruff check .
	$(gate) $@-format ruff format --check .

shellcheck: setup
	$(gate) $@ shellcheck $$(git grep --untracked --files-with-matches --extended-regexp '^#!.*\b(ba)?sh$$')

vermin: setup
	$(gate) $@ vermin --target=3.9- --violations --no-tips --quiet plugins

types: setup ## mypy
	$(gate) mypy mypy .build/ansible_collections/virt/hostprep/plugins tests/lab

unit: setup ## unit and property tests
	$(gate) pytest pytest

docs: setup ## documentation of modules and roles, changelog fragments
	$(gate) antsibull-docs antsibull-docs lint-collection-docs --plugin-docs .
	$(gate) antsibull-changelog antsibull-changelog lint

sanity: setup ## ansible-test sanity, nothing ignored
	$(gate) sanity scripts/sanity

build: setup ## build the collection and import it as Galaxy would
	$(gate) build scripts/build

molecule: setup-lab ## molecule scenarios on lab hosts
	$(gate) molecule scripts/molecule

vm: setup-lab ## pytest on lab hosts
	$(gate) vm pytest tests/vm
