package main

import (
	"context"
	"fmt"

	"github.com/quotegate/quotegate/gateway/usage"
)

// backUp is `gateway backup`: it copies the SQLite database of USAGE_DB while the
// service may be writing to it.
func backUp(ctx context.Context, in invocation) error {
	if len(in.args) != 1 {
		return usageError("usage: gateway backup FILE")
	}
	cfg, err := readConfig(ctx, in.env)
	if err != nil {
		return err
	}
	if err := usage.Backup(ctx, cfg.Usage, in.args[0]); err != nil {
		return err
	}
	_, err = fmt.Fprintf(in.stdout, "The database is in %s. It holds the secret that hashes addresses: keep it as safe as the original.\n", in.args[0])
	return err
}
