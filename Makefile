# Recoup's tasks. `make` alone lists them.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# The modules of the tree. In go.work they use each other; go mod tidy reads them one by one.
MODULES := . server server/test

# With -trimpath the build cache does not depend on the folder: what one clone has compiled
# and linted, another one finds.
export GOFLAGS := $(filter-out -trimpath,$(shell go env GOFLAGS)) -trimpath

ARGS     ?= serve
FUZZTIME ?= 10s
CHECKS   ?= 20000

# Which benchmarks, and how long each.
BENCH     ?= .
BENCHTIME ?= 2s

# What tests write goes to memory if it can; what the compiler writes does not.
QUICKLY := GOTMPDIR=$${TMPDIR:-/tmp} TMPDIR=$$(scripts/fast-temp)

.PHONY: help
help: ## list the tasks
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: build ## build it and run the server, or something else: make run ARGS="codes list"
	@bin/recoup $(ARGS)

.PHONY: build
build: ## build bin/recoup
	@go build -o bin/recoup ./server/cmd/recoup

.PHONY: recoup-bench
recoup-bench: ## build bin/recoup-bench, which measures a server under a mixed load
	@go build -o bin/recoup-bench ./server/test/cmd/recoup-bench

.PHONY: setup
setup: ## install what the other tasks need and the machine lacks
	@scripts/setup

.PHONY: test
test: setup ## run the tests of every change, each once: under the race detector or without it
	@scripts/test

.PHONY: race
race: setup ## run only the tests under the race detector, properties with a fifth of their draws
	@scripts/test race

.PHONY: nightly
nightly: setup ## run what CI leaves out, about five hours: every test in full, fuzzing, chaos, PostgreSQL 13 to 18; PARTS="fuzz chaos" runs some
	@scripts/nightly $(PARTS)

TIER ?= change
.PHONY: mutants
mutants: setup ## plant the faults of scripts/mutants.tsv one by one and list those that no test notices; TIER=nightly, ONLY=policy
	@TIER=$(TIER) ONLY="$(ONLY)" scripts/mutants

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME, one after the other
	@scripts/fuzz $(FUZZTIME)

.PHONY: bench
bench: setup ## run the benchmarks, about ten minutes: make bench BENCH=Work BENCHTIME=10s
	go test -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem -timeout 60m -run '^$$' ./server/test/bench

# Of every part one or two that need little: those left out build the program, fill large
# databases or last by design (GateZeroImport, ImportErrors, ColdStart, Growth, Sweep,
# Horizon, Queue, Service, Work).
SMOKE := AdoptedWriters|AdoptedRows|Archive|Emit|Events|KnownEvents|Gate|GateZero|Ingest|Pages|Redact|Report|Simulation|Stage|Step
.PHONY: bench-smoke
bench-smoke: setup ## run the quicker benchmarks once, as small as they get: that they work, not how fast
	$(QUICKLY) RECOUP_ERRORS=4000 go test -short -bench '^Benchmark($(SMOKE))$$' -benchtime 1x -timeout 10m -run '^$$' ./server/test/bench

# The large database takes some 40 GB at ten million errors, and half an hour to fill.
ERRORS ?= 10000000
.PHONY: bench-large
bench-large: setup ## see how questions grow from 10,000 errors to ERRORS=10000000 and five times as many events, on disk
	RECOUP_FSYNC=on RECOUP_ERRORS=$(ERRORS) go test -bench BenchmarkGrowth -benchtime 1x -timeout 6h -run '^$$' ./server/test/bench

.PHONY: release
release: ## make dist/: static binaries for linux and darwin, manual, completions, list of contents, licences, checksums
	@scripts/release

.PHONY: prepare-release
prepare-release: ## write what the modules of VERSION=v0.1.0 require into go.mod and go.sum, for the commit that is tagged
	@test -n "$(VERSION)" || { echo "usage: make prepare-release VERSION=v0.1.0"; exit 2; }
	@scripts/prepare-release $(VERSION)

.PHONY: record-release
record-release: setup ## keep what VERSION is released with: checksums of its migrations, a database of each store
	@test -n "$(VERSION)" || { echo "usage: make record-release VERSION=0.1.0"; exit 2; }
	RECOUP_RELEASE=$(VERSION) go test -count 1 -run '^TestReleased$$' ./server/internal/store/postgres ./server/internal/store/sqlite

.PHONY: soak
soak: setup ## run the long proofs: crashes, races, CHECKS draws of every property, 2 minutes of every fuzz target
	RECOUP_SOAK=1 go test -count 1 -timeout 60m -v -run '^Test(Crash|GateCrash|Promotion|Pooler)' ./server/internal/store/postgres ./server/internal/store/sqlite ./server/internal/gatezero
	RECOUP_SOAK=1 go test -count 1 -timeout 60m -v -run '^Test(Fortnight|ReplayRamp|Year)' ./server/internal/gatezero ./server/internal/deadletter ./server/internal/scheduler
	RECOUP_SOAK=1 go test -count 1 -timeout 60m -v -run '^TestLeasesAreExclusive' ./server/internal/engine
	RECOUP_SOAK=1 go test -count 1 -timeout 60m -v ./server/test/endtoend
	@scripts/properties $(CHECKS)
	@scripts/fuzz 2m

# Slices of chaos with seeds that follow each other, checked from recorded histories,
# until so much has happened; then the crash, stall and jump rounds: whatever takes the
# database, the network, the clock or the node away while clients work.
KILLS        ?= 1000
RESTARTS     ?= 100
FAILOVERS    ?= 20
BUS_KILLS    ?= 100
SQLITE_KILLS ?= 200
SLICE        ?= 2m
.PHONY: chaos
chaos: setup chaos-slices ## run slices of chaos until KILLS=1000 RESTARTS=100 FAILOVERS=20 BUS_KILLS=100, about 45 minutes, and the crash, stall and jump rounds in full
	RECOUP_SOAK=1 $(QUICKLY) go test -count 1 -timeout 60m -v -run '^Test(Crash|GateCrash|Clock)' ./server/internal/store/postgres ./server/internal/store/sqlite ./server/internal/gatezero
	RECOUP_SOAK=1 $(QUICKLY) go test -count 1 -timeout 60m -v -run '^Test(Crashes|LedgerIsComplete|SignalsUnderLoad|NetworkUnderLoad|LeaderKilled|LostGrant|FullDisk|Database|Clock|Stall|Jump)' ./server/test/endtoend
	RECOUP_SOAK=1 $(QUICKLY) go test -count 1 -timeout 60m -v -run '^Test(Year|Clock|Stall|Jump|Lead|Partitioned)' ./server/internal/scheduler ./server/internal/app
	RECOUP_SOAK=1 $(QUICKLY) go test -count 1 -timeout 60m -v -run '^Test(LeasesAreExclusive|AJump)' ./server/internal/engine

.PHONY: chaos-slices
chaos-slices: setup ## run slices of chaos alone; RECOUP_SEED repeats one, SLICE=2m is how long faults happen in each
	RECOUP_CHAOS_KILLS=$(KILLS) RECOUP_CHAOS_RESTARTS=$(RESTARTS) RECOUP_CHAOS_FAILOVERS=$(FAILOVERS) RECOUP_CHAOS_BUS_KILLS=$(BUS_KILLS) \
		RECOUP_CHAOS_SQLITE_KILLS=$(SQLITE_KILLS) RECOUP_CHAOS_SLICE=$(SLICE) RECOUP_SOAK=1 \
		$(QUICKLY) go test -count 1 -timeout 12h -parallel 2 -v -run '^TestChaos' ./server/test/endtoend

.PHONY: chaos-forged
chaos-forged: setup ## plant bugs into running databases and see the checker of chaos find each, about five minutes
	RECOUP_SOAK=1 $(QUICKLY) go test -count 1 -timeout 1h -v -run '^TestChaosForged$$' ./server/test/endtoend

# The older program is built in a work tree of its own. OLDER is a commit or a tag: the
# latest release, or, while there is none, the last commit that changed a migration.
# Programs from before that commit may have another schema.
OLDER ?= $(shell git describe --tags --match 'v[0-9]*' --abbrev=0 2>/dev/null || git log -1 --format=%H -- server/internal/store/postgres/migrations)
.PHONY: two-versions
two-versions: setup ## run slices of chaos with nodes of an OLDER=v0.1.0 and of this version on one database
	@test -n "$(OLDER)" || { echo "usage: make two-versions OLDER=v0.1.0"; exit 2; }
	@folder=$$(mktemp -d); trap 'git worktree remove --force "$$folder/tree"; rm -rf "$$folder"' EXIT; \
	git worktree add --quiet --detach "$$folder/tree" "$(OLDER)"; \
	main=./server/cmd/recoup; [[ -d $$folder/tree/server ]] || main=./cmd/recoup; \
	go build -C "$$folder/tree" -trimpath -o "$$folder/recoup" "$$main"; \
	RECOUP_OLDER="$$folder/recoup" RECOUP_SOAK=1 $(QUICKLY) go test -count 1 -timeout 1h -v -run '^TestChaosVersions$$' ./server/test/endtoend | grep -v '^=== '

OUTAGE      ?= 10m
OUTAGE_RATE ?= 1000
.PHONY: bus-outage
bus-outage: setup ## take the database away for OUTAGE=10m while OUTAGE_RATE=1000 events a second come by the bus; print what clients saw
	RECOUP_OUTAGE=$(OUTAGE) RECOUP_OUTAGE_RATE=$(OUTAGE_RATE) $(QUICKLY) go test -count 1 -timeout 2h -v -run '^TestBusCarriesAnOutage$$' ./server/test/endtoend | grep -v '^=== '

# Nightly rather than with every change: some minutes for each version.
.PHONY: postgres-matrix
postgres-matrix: setup ## run the tests of the store and of adoption on PostgreSQL 13 to 18: make postgres-matrix VERSIONS="13 18" PACKAGES=./server/internal/adoption/define RUN=Alter
	@VERSIONS="$(VERSIONS)" PACKAGES="$(PACKAGES)" RUN="$(RUN)" scripts/postgres-matrix

# Weekly, by .ci/weekly: it installs a Debian of its own.
.PHONY: fresh-machine
fresh-machine: ## run make run and make test on a new Debian with only Go, make and git; needs root and debootstrap
	@scripts/fresh-machine

.PHONY: console
console: ## build the console's script from its source; what is built is committed
	@scripts/console

PICTURES ?= $(CURDIR)/dist/pictures
.PHONY: console-pictures
console-pictures: setup ## take a picture of every page of the console, in both themes and three widths, into dist/pictures
	$(QUICKLY) RECOUP_NIGHTLY=1 RECOUP_PICTURES=$(PICTURES) go test -count 1 -run '^TestConsolePictures$$' ./server/test/endtoend

.PHONY: check-tidy
check-tidy: ## fail if go.mod or go.sum of a module is not tidy
	@for module in $(MODULES); do (cd $$module && go mod tidy -diff); done

.PHONY: check-published
check-published: ## use the modules as a release publishes them: go get the client in an empty module, go install the program
	@scripts/published

.PHONY: hostile
hostile: setup ## besiege the built binary: slow bodies, slow readers, long polls, body bombs, new names, overload; print the figures
	RECOUP_SOAK=1 $(QUICKLY) go test -count 1 -timeout 20m -parallel 1 -v -run '^TestHostile' ./server/test/endtoend | grep -v '^=== '

.PHONY: fmt
fmt: ## format the Go files
	@gofmt -s -w .

.PHONY: check-fmt
check-fmt: ## fail if a Go file is not formatted
	@unformatted=$$(gofmt -s -l .); \
	if [[ -n $$unformatted ]]; then \
		printf 'not formatted (make fmt does it):\n%s\n' "$$unformatted"; exit 1; \
	fi

.PHONY: vet
vet: ## run go vet
	go vet work

.PHONY: lint
lint: ## run the linters of .golangci.yml (the first run builds them, about two minutes)
	@scripts/go-tool golangci-lint run ./... ./server/... ./server/test/...

.PHONY: check-dead-code
check-dead-code: ## fail if a function is reached from no program
	@scripts/dead-code

.PHONY: generate
generate: ## make the generated files anew
	@go generate work

.PHONY: check-generated
check-generated: ## fail if a generated file is not current
	@scripts/check-generated

.PHONY: check-rules
check-rules: ## have promtool check what 'recoup export prometheus-rules' writes, if it can be had
	@scripts/check-rules

.PHONY: smoke
smoke: build ## build the binary and see it start, answer and refuse
	@scripts/smoke bin/recoup

.PHONY: ci
ci: ## everything that must hold before a change lands
	@.ci/run
