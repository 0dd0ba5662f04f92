package main

import (
	"context"
	"flag"
	"fmt"

	"github.com/quotegate/quotegate/gateway/evidence"
)

// backUp is `gateway backup`: it copies the SQLite database of USAGE_DB while the
// service may be writing to it.
func backUp(*flag.FlagSet) action {
	return configured(func(ctx context.Context, in invocation, cfg *config) error {
		if err := evidence.Backup(ctx, cfg.Usage, in.args[0]); err != nil {
			return err
		}
		_, err := fmt.Fprintf(in.stdout, "The database is in %s. It holds the secret that hashes addresses: "+
			"keep it as safe as the original.\n", in.args[0])
		return err
	})
}
