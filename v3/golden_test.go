package v3_test

import (
	"testing"

	"github.com/quotegate/quotegate/gateway/testkit/golden"
)

func TestGoldens(t *testing.T) { golden.Replay(t, "v3", golden.Dialect{}) }
