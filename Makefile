# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# `make help` lists the targets. The programs are in .ci/; environments are created in .venv/ and .cache/ as needed.
# PYTHON=/path/to/python3 chooses the Python of the tooling; ARGS="..." is passed on.

PYTHON ?= python3
export PYTHON
.DEFAULT_GOAL := help
.PHONY: help demo demo-pool demo-entry demo-bench demo-remove test test-long lint sanity units cores docs build conformance integration e2e e2e-local e2e-check e2e-kthena molecule parsers test-parsers judge artefact releases bench mutation check near renew times lock env clean

help: ## print this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 14

demo: ## deploy a small model on this machine with disaggregated prefill and decode, and verify it
	@bash .ci/playbook.sh site inventories/local $(ARGS)

demo-pool: ## the same with two instances that share a KV store
	@bash .ci/playbook.sh site inventories/local_pool $(ARGS)

demo-entry: ## both behind one entry with TLS, two teams and two hosts (nodes in Docker)
	@bash .ci/demo_entry.sh

demo-bench: demo ## measure the demo; reports: bench.html, bench.md and bench.json in .cache
	@bash .ci/playbook.sh bench inventories/local -e inference_bench_html=$(CURDIR)/.cache/bench.html \
	  -e inference_bench_markdown=$(CURDIR)/.cache/bench.md -e inference_bench_json=$(CURDIR)/.cache/bench.json $(ARGS)

demo-remove: ## stop and remove the demos
	@bash .ci/playbook.sh remove inventories/local $(ARGS)
	@bash .ci/playbook.sh remove inventories/local_pool $(ARGS)
	@bash .ci/demo_entry.sh remove

test: ## all targets from lint to judge; PARTS="lint units" selects, SKIP=molecule excludes, JOBS=1 runs one at a time
	@$(PYTHON) .ci/test.py $(PARTS)

test-long: ## the same without omissions, for a release (hours): all steps of all scenarios, all releases, all Pythons
	@LONG=1 $(PYTHON) .ci/test.py $(PARTS)

lint: ## check formatting, ansible-lint, yamllint, shellcheck
	@bash .ci/parts/lint.sh

sanity: ## run ansible-test sanity
	@bash .ci/parts/sanity.sh $(ARGS)

units: ## run unit tests on several Pythons; with ARGS="tests/unit/test_x.py -k name" on one
	@bash .ci/parts/units.sh $(ARGS)

cores: ## run the playbooks of one deployment's life on the oldest supported ansible-core and on the newest one of the package index
	@bash .ci/parts/cores.sh $(ARGS)

docs: ## check the documentation and build its site, docs/build/html
	@bash .ci/parts/docs.sh

build: ## make the artefact with a throw-away key, check it like Galaxy, install it into another directory
	@bash .ci/parts/build.sh

artefact: ## make what a release consists of in .cache/artefact: archive, list of parts, sums; SIGN=KEY signs with gpg
	@bash .ci/parts/artefact.sh

conformance: ## reproduce documented deployments; CORPUS=FILE for other deployments
	@bash .ci/parts/script.sh conformance $(ARGS)

integration: ## run roles on this machine with simulated NPU tools
	@bash .ci/parts/script.sh integration $(ARGS)

e2e: ## run all of tests/e2e, one after the other
	@bash .ci/parts/script.sh e2e $(ARGS)

e2e-local: ## deploy the local inventories with real engines, inject failures, remove them
	@bash .ci/parts/script.sh e2e-local $(ARGS)

e2e-check: ## detect faults planted in simulated hosts
	@bash .ci/parts/script.sh e2e-check $(ARGS)

e2e-kthena: ## deploy to a simulated Kubernetes API
	@bash .ci/parts/script.sh e2e-kthena $(ARGS)

molecule: ## run scenarios on systemd nodes in containers; ARGS="default" selects one
	@bash .ci/parts/molecule.sh $(ARGS)

parsers: ## pass the commands of the first-class releases to the parsers of these releases
	@bash .ci/parts/script.sh parsers $(ARGS)

test-parsers: ## the same for every release (long)
	@bash .ci/parts/script.sh parsers --releases all $(ARGS)

judge: ## pass the engines' commands of accepted plans to the configuration code of their releases
	@bash .ci/parts/script.sh judge $(ARGS)

check: ## a minute before each commit: style, nearest tests and records of what is changed
	@bash .ci/parts/check.sh

near: ## print the unit tests that are nearest to a file: FILE=plugins/plugin_utils/plan/ports.py
	@$(PYTHON) tests/mutation/near_tests.py $(FILE)

renew: ## write all records and generated pages again; ARGS="plans pages" leaves out rehearsals (minutes)
	@bash .ci/parts/renew.sh $(ARGS)

releases: ## compare the release matrix with the sources on the package index; ARGS="--write" adds rows, "--releases all" reads all
	@bash .ci/parts/script.sh releases $(ARGS)

mutation: ## make small mistakes in a copy of the product code: which do unit tests notice? ARGS="--folder rules --count 60"
	@bash .ci/parts/mutation.sh $(ARGS)

bench: ## run measurements and print ratios
	@bash .ci/parts/script.sh bench $(ARGS)

times: ## write what the parts took in the last make test of this checkout into CONTRIBUTING.md
	@$(PYTHON) .ci/times.py

lock: ## renew versions and hashes of what the tooling installs, .ci/requirements/locks; then read git diff
	@$(PYTHON) .ci/env.py lock

env: ## print shell exports for manual work, see CONTRIBUTING.md
	@$(PYTHON) .ci/env.py exports

clean: ## remove environments, caches and results of this checkout
	rm -rf .venv .cache .ansible .hypothesis .pytest_cache .ruff_cache tests/output
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
