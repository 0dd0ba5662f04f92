package v3legacy

import (
	"testing"

	"github.com/quotegate/quotegate/shared/testkit/steps"
)

func BenchmarkSteps(b *testing.B) { steps.Version{Decode: decodeQuote, Map: mapQuote}.Benchmark(b) }
