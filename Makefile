.PHONY: run help build devnet test test-all rest check unit staticcheck race long deletable tools redis postgres node browser nginx bench soak vectors contract contracts interop

# Nothing here needs a C compiler, but for the race detector. Without machine paths in it, one build serves all copies of
# the tree.
export CGO_ENABLED := 0
export GOFLAGS := $(strip $(shell go env GOFLAGS) -trimpath)

# Ctrl-C would make `go run` itself fail, so what is run is built first.
run: ## serve the gateway on :8080
	@go build -o .scratch/ ./cmd/gateway
	@exec .scratch/gateway

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

build: ## build bin/gateway and bin/quote, static and without machine paths
	go build -o bin/ ./cmd/gateway ./cmd/quote

devnet: ## run local chains with the contracts, a gateway, and one swap to show; Ctrl-C stops it
	@go build -o .scratch/ ./cmd/devnet
	@exec .scratch/devnet

# Two tiers. `make test` is for everyone, after every change: no test in it is long. `make test-all` adds the rest, and is
# what CI runs. A long test says `if testing.Short() { t.Skip("…") }`, and its package is listed here in raced or in long.
# Every package is raced, those in raced with their long tests.
test: tools check unit ## install what the tests need; check format, vet, every package and every golden

test-all: test rest ## everything CI checks: make test, then make rest

rest: staticcheck race long deletable ## what make test leaves out

# Go code under testdata has to be named: ./... leaves it out.
packages := ./... $(patsubst %/,./%,$(sort $(dir $(wildcard testdata/*/*.go))))

# The compiler, the linker and the linters are quicker where they collect garbage seldom. The tests collect it as usual.
check unit staticcheck race: export GOGC := 400

# make check has vetted. Nobody debugs these binaries, and without that they are linked in half the time. Some tests wait,
# so that two more packages than there are processors run at a time.
tested := -vet=off -ldflags=-w -exec='env -u GOGC' -shuffle=on -p=$(shell expr $$(getconf _NPROCESSORS_ONLN) + 2)

# Where goroutines meet. cmd/soak loads a gateway that has the race detector too.
raced := ./gateway $(addprefix ./gateway/,admin caller event lifecycle limit metrics selfcheck usage) \
	./cmd/gateway ./cmd/internal/... ./cmd/soak $(addprefix ./shared/,account cctp guard integrator memo rpc status web)

# Long tests of the other packages. In gateway/site nearly all the work is the browser's.
long := ./cmd/bench ./cmd/devnet/... ./gateway/site ./v3

check: ## check format, go.mod and vet
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt these files:"; echo "$$unformatted"; exit 1; fi
	go mod tidy -diff
	go vet $(packages)

# gateway/usage takes longest, so it begins.
unit: ## run the tests that are not long, with one swap of each kind and both pages in the browser
	go test -short $(tested) ./gateway/usage $(packages)

staticcheck: ## run staticcheck
	go tool staticcheck $(packages)

# SQLite is C that was translated to Go. It is not instrumented: that would take minutes, and find nothing of ours.
race: export CGO_ENABLED := 1
race: export GOFLAGS := $(GOFLAGS) -race -gcflags=modernc.org/...=-race=false
race: ## run all tests where goroutines meet with the race detector, and the short ones of the other packages
	go test $(tested) $(raced)
	go test -short $(tested) $$(go list ./... | grep -vxF "$$(go list $(raced))")

long: ## run the long tests that are not raced, and the soak that asserts the memory
	go test $(tested) $(long)
	go test $(tested) -run '^TestSoak$$' ./cmd/soak

deletable: ## delete each older version in a copy, and check what is left
	.ci/deletable

tools: redis postgres node browser nginx ## install what the tests need

redis: ## install redis-server for the tests, if run as root
	.ci/redis

postgres: ## install PostgreSQL for the tests, if run as root
	.ci/postgres

node: ## install Node.js and npm for the tests, if run as root
	.ci/node

browser: ## install Chromium for the tests, if run as root
	.ci/browser

nginx: ## install nginx for the tests, if run as root
	.ci/nginx

bench: ## measure the parts, then the served gateway beside alternatives: minutes, on a quiet machine, npm for some
	go test -run '^$$' -bench . -benchmem ./...
	go run ./cmd/bench

soak: redis ## load a gateway for minutes while everything it depends on fails; `make test-all` has a shorter form
	go run ./cmd/soak

# What follows needs Node.js and npm, and is not part of the tests.

vectors: ## encode the calldata vectors anew with two other libraries; needs npm
	mkdir -p .scratch/calldata
	cp testdata/calldata/package.json testdata/calldata/generate.mjs .scratch/calldata/
	npm install --prefix .scratch/calldata --no-package-lock --loglevel=error
	node .scratch/calldata/generate.mjs > testdata/calldata/vectors.json

contract: ## check the openapi.yaml files with linters, generators and a proxy that wallet teams use; needs npm
	mkdir -p .scratch/openapi
	cp testdata/openapi/package.json testdata/openapi/.npmrc .scratch/openapi/
	npm install --prefix .scratch/openapi --loglevel=error
	go build -o .scratch/openapi/gateway ./cmd/gateway
	node testdata/openapi/check.mjs

contracts: ## compile the reference contracts with the pinned solc; needs npm
	mkdir -p .scratch/contracts
	cp testdata/contracts/package.json testdata/contracts/.npmrc .scratch/contracts/
	cd .scratch/contracts && npm install --no-audit --no-fund --ignore-scripts --loglevel=error && node ../../testdata/contracts/compile.mjs

interop: ## have the public RAILGUN engine read the notes of a running gateway; needs npm
	testdata/interop/run.sh
