package report_test

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

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		postgres.StopShared()
		os.Exit(code)
	}))
}

// begin starts a recorder under test.
var begin = recorded.New(func(
	ctx context.Context, db *store.Store, o evidence.Options,
) (recorded.Recorder, *evidence.Reader, error) {
	r, err := usage.New(ctx, db, usage.Options{Options: o})
	if err != nil {
		return nil, nil, err
	}
	return r, r.Reader, nil
}).Begin
