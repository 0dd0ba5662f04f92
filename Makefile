# `make run` serves the gateway; `make test` is everything CI checks.

.PHONY: run test check unit bench

run:
	go run ./cmd/gateway

test: check unit

check:
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt these files:"; echo "$$unformatted"; exit 1; fi
	go mod tidy -diff
	go vet ./...
	go tool staticcheck ./...

unit:
	go test -race -shuffle=on ./...

bench:
	go test -run '^$$' -bench . -benchmem ./...
