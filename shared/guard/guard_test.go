package guard_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/shared/guard"
)

func TestDo(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	before, after := guard.Total(), false
	guard.Do(log, "nothing much", func() {})
	if out.Len() != 0 || guard.Total() != before {
		t.Errorf("work that does not panic was logged or counted: %s", &out)
	}
	func() {
		defer func() { after = true }()
		guard.Do(log, "dividing", func() {
			var none []int
			_ = none[len(none)]
		})
	}()
	if !after || guard.Total() != before+1 {
		t.Errorf("got %d panics, want one more than %d", guard.Total(), before)
	}
	for _, want := range []string{"level=ERROR", "in=dividing", "index out of range", "guard_test.go"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing from the log: %s", want, &out)
		}
	}
}
