package report_test

import (
	"testing"

	"github.com/quotegate/quotegate/testdata/counted"
)

func TestMain(m *testing.M) { counted.Main(m) }
