package v1_test

import (
	"testing"

	"github.com/quotegate/quotegate/gateway/testkit/golden"
)

func TestGoldens(t *testing.T) { golden.Replay(t, "v1", golden.Dialect{}) }
