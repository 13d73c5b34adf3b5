# What continuous integration runs, by name. `make help` lists the targets.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

# Flags for people: ARGS goes to the demo, TESTFLAGS to every run of go test.
ARGS ?=
TESTFLAGS ?=
# BENCH chooses benchmarks by pattern; BENCHTIME, for each of them, and FUZZTIME, for each fuzz target, are a duration or
# a count such as 1000x.
BENCH ?= .
BENCHTIME ?= 1s
FUZZTIME ?= 5s
COUNT ?= 10
# SCENARIO names what make cost counts, RUNS how often it and make bench-gate do, PROFILE=1 asks for functions, BASELINE is
# a commit.
SCENARIO ?=
RUNS ?= 1
PROFILE ?=
BASELINE ?=
# GUARD chooses guards whose file, test or text contains it.
GUARD ?=
# PART is k/n: every n-th of those from the k-th on.
PART ?= 1/1
# The newest release of Go, which test-newest fetches as a module.
NEWEST_GO := go1.27.3

# Every module of the workspace, as paths from here: the root module is ".".
MODULES = $(patsubst $(CURDIR)/%,./%,$(patsubst $(CURDIR),.,$(shell go list -m -f '{{.Dir}}')))
PACKAGES = $(addsuffix /...,$(MODULES))

GOLANGCI_VERSION := $(shell sed -n 's|.*github.com/golangci/golangci-lint/v2 ||p' tools/go.mod | cut -d' ' -f1)
GOLANGCI := $(CURDIR)/.tmp/bin/golangci-lint-$(GOLANGCI_VERSION)-$(shell go env GOVERSION)
export GOLANGCI_LINT_CACHE := $(CURDIR)/.tmp/golangci-lint

.PHONY: help
help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  %-14s %s\n", $$1, $$2 }' Makefile

.PHONY: demo
demo: ## Run the orders demo in process. ARGS="--duration 10s" and others go to it.
	@go run ./cmd/wherry demo $(ARGS)

.PHONY: test
test: ## Test every module of the workspace. TESTFLAGS are passed on.
	go test $(TESTFLAGS) $(PACKAGES)

.PHONY: race
race: ## Test every module with the race detector.
	go test -race $(TESTFLAGS) $(PACKAGES)

.PHONY: flake
flake: ## Run the whole suite COUNT times in shuffled order. One failure fails it.
	go test -count=$(COUNT) -shuffle=on -failfast -timeout 30m $(PACKAGES)

.PHONY: attack
attack: ## Try what is hostile, and count the tries.
	@go test -count=1 -v $(TESTFLAGS) ./attack/... | awk -f scripts/tries.awk

.PHONY: test-newest
test-newest: ## Vet and test the root module with the newest Go, which is fetched when it is missing.
	GOTOOLCHAIN=$(NEWEST_GO) go version
	GOTOOLCHAIN=$(NEWEST_GO) GOWORK=off go vet ./...
	GOTOOLCHAIN=$(NEWEST_GO) GOWORK=off go test $(TESTFLAGS) ./...

.PHONY: standalone
standalone: ## Build and vet each module as its users get it, without the workspace.
	@for m in $(MODULES); do \
		echo "$$m: build and vet without the workspace"; \
		(cd $$m && GOWORK=off go build ./... && GOWORK=off go vet ./...); \
	done

.PHONY: lint
lint: tidy $(GOLANGCI) ## Check formatting, go vet, go mod tidy and every linter of .golangci.yml in each module.
	@status=0; for m in $(MODULES); do \
		echo "$$m: vet, format, lint"; \
		(cd $$m && go vet ./... && $(GOLANGCI) fmt --diff && $(GOLANGCI) run ./...) || status=1; \
	done; exit $$status

.PHONY: tidy
tidy: ## Check that every go.mod is tidy.
	@for m in $(MODULES) ./tools; do \
		echo "$$m: go mod tidy -diff"; \
		(cd $$m && GOWORK=off go mod tidy -diff); \
	done

.PHONY: fmt
fmt: $(GOLANGCI) ## Format every module in place.
	@for m in $(MODULES); do (cd $$m && $(GOLANGCI) fmt); done

$(GOLANGCI): tools/go.mod tools/go.sum
	@echo "building golangci-lint $(GOLANGCI_VERSION)"
	@mkdir -p $(@D)
	@cd tools && GOWORK=off go build -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

.PHONY: fuzz
fuzz: ## Fuzz every target for FUZZTIME each: a duration, or a count such as 1000x.
	@scripts/fuzz.sh $(FUZZTIME) $(PACKAGES)

.PHONY: bench
bench: ## Run the benchmarks that match BENCH, with their allocations.
	go test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem $(TESTFLAGS) $(PACKAGES)

.PHONY: cost
cost: ## Count instructions and allocations of SCENARIO (all, or names); without one, list them. PROFILE=1 by function.
	@go run ./bench/codecost/cost $(if $(PROFILE),-profile) -runs $(RUNS) $(SCENARIO)

.PHONY: bench-gate
bench-gate: valgrind ## Count every scenario: allocations against the committed ceiling, instructions against BASELINE if given.
	@go run ./bench/codecost/cost -gate $(if $(BASELINE),-baseline $(BASELINE)) -runs $(RUNS)

.PHONY: ceiling
ceiling: valgrind ## Count every scenario seven times and write the ceiling of make bench-gate anew.
	@go run ./bench/codecost/cost -rewrite -runs 7

.PHONY: valgrind
valgrind:
	@scripts/valgrind.sh

.PHONY: guards
guards: ## Remove each guard in turn and see its test fail. GUARD="text" chooses, PART=2/3 takes a third.
	@go run ./internal/guards -only "$(GUARD)" -part "$(PART)"

.PHONY: api
api: ## Rewrite the committed text of the exported surface.
	go test ./internal/surface -run '^TestSurface$$' -count=1 -rewrite

.PHONY: first-line
first-line: ## Measure the demo's first line from empty caches, at most 120 s.
	@scripts/first-line.sh 120

.PHONY: leftovers
leftovers: ## Check that no process which carries the mark of this run is left.
	@scripts/leftovers.sh

.PHONY: check
check: ## Run all that continuous integration runs.
	@.ci/run

.PHONY: clean
clean: ## Remove built tools and caches below .tmp.
	rm -rf .tmp
