package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/admin"
	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/store"
)

// openUsage opens the counts of a service for reading, with the clients of CLIENTS_FILE.
func openUsage(
	ctx context.Context, cfg *config, versions []string, now time.Time,
) (reader *evidence.Reader, closeDB func(), err error) {
	clients, err := caller.NewClients(cfg.Caller.ClientsFile, quiet)
	if err != nil {
		return nil, nil, fmt.Errorf("CLIENTS_FILE: %w", err)
	}
	db, err := store.OpenForReading(ctx, cfg.Usage)
	if err != nil {
		return nil, nil, err
	}
	options := evidence.Options{
		Versions: versions,
		Current:  gateway.Current,
		Now:      func() time.Time { return now },
		Known:    clients.FindRecorded,
	}
	closeDB = func() { _ = db.Close() } // nothing is written
	return evidence.New(db, options, evidence.Writer{}), closeDB, nil
}

// writeReport is `gateway report`: it writes the operator's page as a self-contained file. The
// database and the plan are only read.
func writeReport(flags *flag.FlagSet) action {
	file := flags.String("o", "", "the `FILE` to write; - is standard output")
	return configured(func(ctx context.Context, in invocation, cfg *config) error {
		if *file == "" {
			return usageError("-o is missing")
		}
		body, err := report(ctx, cfg)
		switch {
		case err != nil:
			return err
		case *file == "-":
			_, err = in.stdout.Write(body)
			return err
		}
		return os.WriteFile(*file, body, 0o600)
	})
}

func report(ctx context.Context, cfg *config) ([]byte, error) {
	facts := admin.Facts{Now: time.Now(), Current: gateway.Current}
	reader, closeDB, err := openUsage(ctx, cfg, servedVersions(), facts.Now)
	if err != nil {
		return nil, err
	}
	defer closeDB()
	facts.Plan, err = lifecycle.Inspect(cfg.Gateway.LifecycleFile, servedVersions(), reader, facts.Now)
	if err != nil {
		return nil, err
	}
	facts.Report, err = reader.Report(ctx, evidence.Query{Old: "yes", Per: admin.FileClients})
	if err != nil {
		return nil, fmt.Errorf("USAGE_DB: %w", err)
	}
	facts.Look(func(q evidence.Query) (evidence.Report, error) { return reader.Report(ctx, q) })
	return admin.File(facts)
}

// backUp is `gateway backup`: it copies the SQLite database of USAGE_DB while the
// service may be writing to it.
func backUp(*flag.FlagSet) action {
	return configured(func(ctx context.Context, in invocation, cfg *config) error {
		if err := store.Backup(ctx, cfg.Usage, in.args[0]); err != nil {
			return err
		}
		_, err := fmt.Fprintf(in.stdout, "The database is in %s. It holds the secret that hashes addresses: "+
			"keep it as safe as the original.\n", in.args[0])
		return err
	})
}
