package metrics

import (
	"math"
	"time"
)

// formerly has what release 1.0 called metrics that have another name now. The old name is
// sent beside the new one, until release 1.2.
var formerly = map[string]struct {
	name  string
	value func(float64) float64 // in the old unit
}{
	"issuer_fee_ratio":                 {"issuer_fee_bps", toBPS},
	"version_sunset_timestamp_seconds": {"version_days_to_sunset", daysUntil},
}

// deprecation is the help of an old name.
func deprecation(name string) string {
	return "Deprecated: use " + namespace + "_" + name + "; ends with 1.2."
}

// toBPS is a ratio in basis points, rounded to the nine decimals of a fee.Rate.
func toBPS(ratio float64) float64 { return math.Round(ratio*10_000*1e9) / 1e9 }

// daysUntil are those until a Unix time, negative past it.
func daysUntil(seconds float64) float64 { return time.Until(time.Unix(int64(seconds), 0)).Hours() / 24 }
