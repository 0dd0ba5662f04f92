package evidence_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/gateway/testkit/recorded"
	"github.com/quotegate/quotegate/shared/fault"
)

// A client's own view has its calls by day and outcome and what the current version
// makes of them, and nothing of others.
func TestOwn(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		at := recorded.At(recorded.Noon)
		r := recorded.Begin(t, cfg, at)
		r.Found("client Acme", 3, same)
		r.Errs("client Acme", 2)
		r.Call("client Other", 50)
		r.Flush(t)
		r.Up(t, 24*time.Hour)
		r.Found("client Acme", 4, omits)
		r.Found("client Acme", 5, same)
		r.Refuse("client Acme", 6, fault.VersionBrownout)
		r.Flush(t)
		own, err := r.Own(t.Context(), "Acme")
		if err != nil || len(own) != 1 {
			t.Fatalf("got %+v, %v, want what it did on v1", own, err)
		}
		want := lifecycle.Own{Version: "v1", LastSeen: at.Now(), Compared: "2027-03-11",
			Days: []lifecycle.OwnDay{{Day: "2027-03-10", Served: 3, Failed: 2}, {Day: "2027-03-11", Served: 9, Refused: 6}},
			Findings: []lifecycle.OwnFinding{
				{Outcome: "refused", Code: "MISSING_PARAMETER", Param: "recipient", Calls: 4,
					Says: "4 calls would be refused by v3, because recipient is missing."},
				{Outcome: "same", Calls: 5,
					Says: "5 calls would get the same transaction and the same amounts from v3, in a new format."},
			}}
		if !reflect.DeepEqual(own[0], want) {
			t.Errorf("got  %+v\nwant %+v", own[0], want)
		}
		at.Pass(time.Minute)
		r.On("v3", "client Acme")
		r.Flush(t)
		if own, err := r.Own(t.Context(), "Acme"); err != nil || len(own) != 2 || !own[1].Moved.Equal(at.Now()) {
			t.Errorf("got %+v, %v, want that it has moved", own, err)
		}
		if own, err := r.Own(t.Context(), "Nobody"); err != nil || len(own) != 0 {
			t.Errorf("got %+v, %v of a client that never called", own, err)
		}
	})
}
