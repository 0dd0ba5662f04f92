package main

import (
	"context"
	"flag"
	"fmt"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/evidence"
)

// giveUp is `gateway plan gone`: it notes in USAGE_DB that an instance which was killed will
// not come back.
func giveUp(*flag.FlagSet) action {
	return configured(func(ctx context.Context, in invocation, cfg *config) error {
		options := evidence.Options{Versions: servedVersions(), Current: gateway.Current, Log: quiet}
		existing, err := evidence.OpenForReading(ctx, cfg.Usage, options)
		if err != nil {
			return err
		}
		defer existing.Close()
		counts, err := evidence.Open(cfg.Usage, options)
		if err != nil {
			return err
		}
		defer counts.Close()
		name, err := counts.Gone(ctx, in.args[0])
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(in.stdout, "%s will not come back. What it lost is a gap of at most 20 seconds.\n", name)
		return err
	})
}
