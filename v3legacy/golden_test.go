package v3legacy_test

import (
	"testing"

	"github.com/quotegate/quotegate/gateway/testkit/golden"
)

func TestGoldens(t *testing.T) {
	golden.Replay(t, "v3legacy", golden.Dialect{Aliases: map[string]string{"/v3/swap/quote": "/v3legacy/swap/quote"}})
}
