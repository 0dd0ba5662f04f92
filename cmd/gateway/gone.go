package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/evidence"
)

// giveUp is `gateway plan gone`: it notes in USAGE_DB that an instance which was killed will
// not come back.
func giveUp(flags *flag.FlagSet) action {
	var last time.Time
	flags.TextVar(&last, "last", time.Time{},
		"the `TIME` of its last call, such as 2027-01-12T14:05:00Z; if omitted, within 20 seconds of its last write")
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
		lost, err := counts.Gone(ctx, in.args[0], last)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(in.stdout, "%s will not come back. Calls that it answered from %s to %s are missing.\n"+
			"If it answered calls for longer, and could not write them, run this again with -last.\n",
			lost.Instance, lost.From.Format(time.RFC3339), lost.To.Format(time.RFC3339))
		return err
	})
}
