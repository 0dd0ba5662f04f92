# `make run` serves the gateway; `make test` is everything CI checks.

.PHONY: run devnet test redis check unit bench soak vectors contracts interop

# The Go code under testdata has to be named: ./... passes it by.
packages := ./... $(addprefix ./testdata/,contracts golden journal referee steps)

run:
	go run ./cmd/gateway

# Local chains with the reference contracts, a gateway wired to them, and one
# swap as a demonstration. Ctrl-C stops it.
devnet:
	go run ./cmd/devnet

test: check unit

# A redis-server for the tests that need a real one, where it can be had.
redis:
	.ci/redis

check:
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt these files:"; echo "$$unformatted"; exit 1; fi
	go mod tidy -diff
	go vet $(packages)
	go tool staticcheck $(packages)

unit: redis
	go test -race -shuffle=on $(packages)

# Step by step, then as it is served beside the alternatives. The second part
# takes some minutes and wants a quiet machine; npm is needed for Fastify and
# for the public RAILGUN engine, which are left out without it.
bench:
	go test -run '^$$' -bench . -benchmem ./...
	go run ./cmd/bench

# Load on a real gateway while everything it depends on fails, for minutes. A
# shorter form is part of `make test`.
soak: redis
	go run ./cmd/soak

# What follows needs Node.js and npm, and is not part of `make test`.

# Encode the calldata vectors anew with two libraries other than ours.
vectors:
	mkdir -p .scratch/calldata
	cp testdata/calldata/package.json testdata/calldata/generate.mjs .scratch/calldata/
	npm install --prefix .scratch/calldata --no-package-lock --loglevel=error
	node .scratch/calldata/generate.mjs > testdata/calldata/vectors.json

# Compile the reference contracts with the pinned solc.
contracts:
	mkdir -p .scratch/contracts
	cp testdata/contracts/package.json testdata/contracts/.npmrc .scratch/contracts/
	cd .scratch/contracts && npm install --no-audit --no-fund --ignore-scripts --loglevel=error && node ../../testdata/contracts/compile.mjs

# Have the public RAILGUN engine read the notes of a running gateway.
interop:
	testdata/interop/run.sh
