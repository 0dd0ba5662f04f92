package evidence_test

import (
	"testing"

	"github.com/quotegate/quotegate/testdata/recorded"
)

func TestMain(m *testing.M) { recorded.Main(m) }
