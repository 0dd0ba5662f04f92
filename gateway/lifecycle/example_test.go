package lifecycle_test

import (
	"fmt"
	"os"
	"time"

	"github.com/quotegate/quotegate/gateway/lifecycle"
)

// Describe says what a plan means for clients at a time of one's choice, here
// within a brownout.
func ExampleDescribe() {
	const text = `{"versions": {"v1": {
		"deprecated": "2026-09-01T00:00:00Z",
		"sunset": "2027-03-01T00:00:00Z",
		"successor": "/v3/swap/quote",
		"docs": "https://example.org/migrate-v1",
		"brownouts": [{"from": "2027-01-12T14:00:00Z", "to": "2027-01-12T14:15:00Z", "share": 1}]
	}}}`
	plan, err := lifecycle.Parse([]byte(text), []string{"v3", "v1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := lifecycle.Describe(plan, time.Date(2027, 1, 12, 14, 5, 0, 0, time.UTC), os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// v3: active, not in the plan
	//
	// v1: brownout at 2027-01-12T14:05:00Z
	//
	//   timeline
	//     2026-09-01T00:00:00Z  deprecated
	//     2027-01-12T14:00:00Z  brownout begins: 100 % of clients get 410 for 15m
	//   > 2027-01-12T14:05:00Z  the time asked about
	//     2027-01-12T14:15:00Z  brownout ends
	//     2027-03-01T00:00:00Z  sunset: every client gets 410 from here on
	//
	//   who sees what at 2027-01-12T14:05:00Z
	//     clients in the share of 100 %             410 VERSION_BROWNOUT until 2027-01-12T14:15:00Z, successor /v3/swap/quote
	//
	//   headers of every answer at 2027-01-12T14:05:00Z
	//     Deprecation: @1788220800
	//     Sunset: Mon, 01 Mar 2027 00:00:00 GMT
	//     Link: <https://example.org/migrate-v1>; rel="deprecation", <https://example.org/migrate-v1>; rel="sunset", </v3/swap/quote>; rel="successor-version"
	//     API-Brownout: from=@1799762400, to=@1799763300, share=1.0
}
