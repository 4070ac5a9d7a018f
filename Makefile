# The commands of daily work. Everything is done by CMake, ctest and tools/;
# this file only names it. `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

JOBS ?= $(shell nproc)
SLUICE_SOAK_SEEDS ?= 10000
SLUICE_SOAK_ROUNDS ?= 50
SLUICE_SOAK_SINK_ROUNDS ?= 100
# Arguments for `make run`, `make demo`, `make bench`.
ARGS ?=

.PHONY: help bootstrap build release run demo test test-dev test-asan-ubsan test-tsan soak bench format lint clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

bootstrap: ## install what is missing (packages, API descriptors, clients), once
	@tools/bootstrap

build: bootstrap ## build everything; leaves build/sluice
	@cmake --preset dev >build.log 2>&1 || { cat build.log; exit 1; }
	@cmake --build --preset dev -j $(JOBS)

release: bootstrap ## build without debug information, in build-release/
	@cmake --preset release && cmake --build --preset release -j $(JOBS)

server: bootstrap
	@cmake --preset dev >build.log 2>&1 || { cat build.log; exit 1; }
	@cmake --build --preset dev -j $(JOBS) --target sluice

run: server ## start the server on 127.0.0.1:8085 with docs/examples/quickstart.yaml
	@exec build/sluice serve --config docs/examples/quickstart.yaml $(ARGS)

demo: server ## send 1,000 orders through a queue paced at 100 a second and watch them arrive
	@exec .deps/venv/bin/python tools/demo/run --server build/sluice $(ARGS)

test: test-dev test-asan-ubsan test-tsan ## everything a change must pass: checks, tests, sanitizers
	@echo "make test: all three builds passed"

test-dev: build ## checks and tests of the ordinary build
	@ctest --preset dev

test-asan-ubsan: bootstrap ## unit tests and simulation with address and undefined behaviour sanitizers
	@cmake --preset asan-ubsan >build.log 2>&1 || { cat build.log; exit 1; }
	@cmake --build --preset asan-ubsan -j $(JOBS)
	@ctest --preset asan-ubsan

test-tsan: bootstrap ## unit tests with the thread sanitizer
	@cmake --preset tsan >build.log 2>&1 || { cat build.log; exit 1; }
	@cmake --build --preset tsan -j $(JOBS)
	@ctest --preset tsan

soak: build ## the long counts: SLUICE_SOAK_SEEDS simulations, SLUICE_SOAK_ROUNDS kills, SLUICE_SOAK_SINK_ROUNDS of the sink in each mode
	@SLUICE_SOAK_SEEDS=$(SLUICE_SOAK_SEEDS) SLUICE_SOAK_ROUNDS=$(SLUICE_SOAK_ROUNDS) \
	  SLUICE_SOAK_SINK_ROUNDS=$(SLUICE_SOAK_SINK_ROUNDS) ctest --preset soak

bench: build ## benchmarks beside their peers; prints ratios
	@exec bench/run --build build $(ARGS)

format: ## format the C++ files
	@tools/format

lint: build ## clang-tidy over all C++ files; ARGS=--changed for those of this change
	@tools/lint $(ARGS)

clean: ## remove what was built, keep what was downloaded
	@cmake -E rm -rf build build-release build-asan-ubsan build-tsan build.log
