.PHONY: run devnet test generate build help
.PHONY: test-all rest check unit vet packages staticcheck race long addable deletable chainable
.PHONY: tools release bench soak simulate mutants vulncheck lockfiles vectors contract contracts interop

.DEFAULT_GOAL := help

# Nothing here needs a C compiler, but for the race detector. Without machine paths in it, one build serves all copies of
# the tree.
export CGO_ENABLED := 0
export GOFLAGS := $(strip $(shell go env GOFLAGS) -trimpath)

##@ Every day

# Ctrl-C would make `go run` itself fail, so what is run is built first. The go command says nothing meanwhile.
run: ## serve the gateway on :8080
	@test -e .scratch/gateway || echo "Building the gateway (the first time takes a few minutes)…"
	@go build -o .scratch/ ./cmd/gateway
	@exec .scratch/gateway

devnet: ## run local chains with the contracts, a gateway, and one swap to show
	@test -e .scratch/devnet || echo "Building the devnet (the first time takes a few minutes)…"
	@go build -o .scratch/ ./cmd/devnet
	@exec .scratch/devnet

# Two tiers. `make test` is for everyone, after every change: no test in it is long. `make test-all` adds the rest, and is
# what CI runs. A long test says `if testing.Short() { t.Skip("…") }`, and its package is listed here in raced or in long.
test: tools check unit ## install what the tests need; check format, every package and every golden

generate: ## write what is generated: tables, contract files, the JavaScript client, goldens
	go run ./cmd/dev/generate

build: ## build bin/gateway and bin/quote, static and without machine paths
	go build -o bin/ ./cmd/gateway ./cmd/quote

help: ## list the targets
	@awk -F ':.*## ' '/^##@ / { print (n++ ? "\n" : "") substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

##@ All that CI checks, and its parts

test-all: test rest ## everything CI checks: make test, then make rest

rest: packages vet staticcheck race long addable deletable chainable ## what make test leaves out

# The compiler, the linker and the linters are quicker where they collect garbage seldom.
vet staticcheck deletable chainable: export GOGC := 400

# The tests collect garbage as usual. Nobody debugs these binaries, and without that they are linked in half the time.
# Some tests wait, so that two more packages than there are processors run at a time.
tested := -timeout=40m -ldflags=-w -toolexec='env GOGC=400' -shuffle=on \
	-p=$(shell expr $$(getconf _NPROCESSORS_ONLN) + 2)

# Where goroutines meet. cmd/dev/soak loads a gateway that has the race detector too.
raced := ./cmd/gateway ./cmd/dev/soak ./cmd/internal/child \
	./gateway $(addprefix ./gateway/,usage evidence lifecycle limit caller selfcheck) \
	$(addprefix ./shared/,cctp safego integrator jsonfile cache rpc status) ./v3/client/send

# Long tests of the other packages.
long := ./cmd/devnet/... ./v3 ./gateway/site ./shared/testkit/pages ./gateway/admin ./v3/client ./cmd/dev/bench \
	./shared/testkit/npm ./shared/testkit/quotecheck

check: ## check the format
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt these files:"; echo "$$unformatted"; exit 1; fi

# These take longest, so they begin.
unit: ## run the tests that are not long
	go test -short -vet=off $(tested) ./gateway/usage ./gateway/evidence ./...

# The go command downloads more modules for the first of these than it builds.
vet: ## check go.mod, and vet every package, those without tests too
	go mod tidy -diff
	go vet ./...

# The raced tests need none of them, so that nobody waits. If this fails, the long tests do it again, and say so.
packages: ## download the npm packages of the long tests, in the background
	@go test -count=1 -run '^TestPackages$$' ./shared/testkit/npm >/dev/null 2>&1 &

staticcheck: ## run staticcheck
	go build -C .ci/tools -o ../../.scratch/tools/ honnef.co/go/tools/cmd/staticcheck
	.scratch/tools/staticcheck ./...

# SQLite and the virtual machine of the simulated chains are not instrumented: that would take minutes, and find nothing
# of ours.
race: export CGO_ENABLED := 1
race: export GOFLAGS := $(GOFLAGS) -race -gcflags=modernc.org/...=-race=false \
	-gcflags=github.com/ethereum/go-ethereum/core/vm/...=-race=false
race: ## run the tests of the packages where goroutines meet with the race detector
	go test -vet=off $(tested) $(raced)

long: ## run the long tests that are not raced, and the soak that asserts the memory
	go test -vet=off $(tested) $(long)
	go test -vet=off $(tested) -run '^TestSoak$$' ./cmd/dev/soak

addable: ## add a version in a copy, by the steps of docs/CONTRIBUTING.md, and test it
	.ci/addable

deletable: ## delete each older version in a copy, and check what is left
	.ci/deletable

chainable: ## add a chain and a token in a copy, as the chapters say; nothing may be forgotten
	.ci/chainable

##@ What the tests need (make test installs it)

tools: ## install what the tests need, if run as root
	.ci/install

##@ Dependencies

# Not part of the tests: what it finds depends on the day.
vulncheck: ## fail if the code calls something with a known vulnerability; needs the network
	.ci/vulncheck

lockfiles: ## match the npm lockfiles in testdata to their package.json; needs npm
	for folder in $(dir $(wildcard testdata/*/package.json)); do npm install --prefix $$folder --package-lock-only \
		--omit-lockfile-registry-resolved --ignore-scripts --no-audit --no-fund --loglevel=error || exit; done

##@ A release

# The first time it also builds goreleaser and go-licenses.
release: export VERSION = $(shell sed -n 's/.*"version": "\(.*\)".*/\1/p' v3/client/npm/package.json)
release: export COMMIT_TIME = $(shell git log -1 --format=%ct)
release: export COMMIT_DATE = $(shell git log -1 --format=%cI)
release: export GOFLAGS :=
release: ## make dist/: static binaries, npm package, licences, SBOMs, checksums; needs npm
	CGO_ENABLED=0 go build -C .ci/tools -trimpath -buildvcs=false -o ../../.scratch/tools/ \
		github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod
	go run github.com/goreleaser/goreleaser/v2@v2.15.1 release --snapshot --clean --config .ci/goreleaser.yaml
	mv .scratch/release/* dist/

##@ Measure

# It wants a quiet machine.
bench: ## measure the parts, then the served gateway beside a bare and a plain one: minutes
	go test -run '^$$' -bench . -benchmem ./...
	go run ./cmd/dev/bench

# `make test-all` has a shorter form.
soak: tools ## load a gateway for minutes while everything it depends on fails
	go run ./cmd/dev/soak

# `make test-all` runs 55 histories, and `make test` 5. A failure prints the seed with which it can be repeated.
simulate: tools ## retire a version in 2,100 random histories of faults, and check each release
	go test -run '^TestSimulatedGate$$' -timeout=4h -v ./gateway/evidence -rapid.checks=2000
	go test -run '^TestSimulatedGateOnPostgres$$' -timeout=4h -v ./gateway/evidence -rapid.checks=100

# Not part of CI. What survives and is not in testdata/mutants.txt makes it fail.
mutants: ## change the money path one operator at a time; list what no test notices: hours
	GREMLINS=v0.6.0 .ci/mutants $(mutated)

##@ Make and compare generated files; not part of the tests, needs npm

vectors: ## encode the calldata vectors anew with two other libraries
	.ci/npm calldata
	cp testdata/calldata/generate.mjs .scratch/calldata/
	node .scratch/calldata/generate.mjs > testdata/calldata/vectors.json

contract: ## check the openapi.yaml files with the tools that wallet teams use
	.ci/npm openapi
	go build -o .scratch/openapi/gateway ./cmd/gateway
	node testdata/openapi/check.mjs

contracts: ## compile the reference contracts with the pinned solc
	.ci/npm contracts
	cd .scratch/contracts && node ../../testdata/contracts/compile.mjs

interop: ## have the public RAILGUN engine read the notes of a running gateway
	testdata/interop/run.sh
