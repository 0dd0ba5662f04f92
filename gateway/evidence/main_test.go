package evidence_test

import (
	"testing"

	"github.com/quotegate/quotegate/gateway/testkit/recorded"
)

func TestMain(m *testing.M) { recorded.Main(m) }
