// Package counted starts recorders for tests of those who read what they have counted.
package counted

import (
	"context"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/testdata/postgres"
	"github.com/quotegate/quotegate/testdata/recorded"
)

// Begin starts a recorder under test.
var Begin = recorded.New(func(
	ctx context.Context, db *store.Store, o evidence.Options,
) (recorded.Recorder, *evidence.Reader, error) {
	r, err := usage.New(ctx, db, usage.Options{Options: o, After: recorded.Never})
	if err != nil {
		return nil, nil, err
	}
	return r, r.Reader, nil
}).Begin

// Main runs the tests of a package. Nothing of theirs may run on.
func Main(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		postgres.StopShared()
		os.Exit(code)
	}))
}
