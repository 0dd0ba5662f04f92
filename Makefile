.PHONY: run help build devnet test check unit deletable redis postgres node browser nginx bench soak vectors contract contracts interop

run: ## serve the gateway on :8080
	go run ./cmd/gateway

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

build: ## build bin/gateway and bin/quote, static and without machine paths
	CGO_ENABLED=0 go build -trimpath -o bin/ ./cmd/gateway ./cmd/quote

devnet: ## run local chains with the contracts, a gateway, and one swap to show; Ctrl-C stops it
	go run ./cmd/devnet

test: check unit deletable ## install what the tests need and check everything CI checks

# The Go code under testdata has to be named: ./... leaves it out.
packages := ./... $(addprefix ./testdata/,browser contracts golden journal node npm referee steps)

# Everything is compiled once, with the race detector: for vet, for staticcheck, for the tests, and by the tests that
# build a gateway. Only the program staticcheck itself is built without, since it would be slow.
race := GOFLAGS="$(strip $(shell go env GOFLAGS) -race)"

check: ## check formatting, go.mod, vet and staticcheck
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt these files:"; echo "$$unformatted"; exit 1; fi
	go mod tidy -diff
	$(race) go vet $(packages)
	tool=$$(go tool -n staticcheck) && $(race) $$tool $(packages)

unit: redis postgres node browser nginx ## run the tests with the race detector
	$(race) go test -shuffle=on $(packages)

deletable: ## delete each older version in a copy, and test what is left
	$(race) .ci/deletable

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

soak: redis ## load a gateway for minutes while everything it depends on fails; `make test` has a shorter form
	go run ./cmd/soak

# What follows needs Node.js and npm, and is not part of `make test`.

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
