package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/quotegate/quotegate/gateway/admin"
	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/usage"
)

// writeReport is `gateway report`: it writes the operator's page as a file of its
// own. The database and the plan are only read.
func writeReport(ctx context.Context, in invocation) error {
	flags := flag.NewFlagSet("gateway report", flag.ContinueOnError)
	file := flags.String("o", "", "the file to write")
	if rest, err := in.parse(flags, 0); err != nil || rest == nil {
		return err
	}
	if *file == "" {
		return usageError(in.usage)
	}
	cfg, err := readConfig(ctx, in.env)
	if err != nil {
		return err
	}
	body, err := makeReport(ctx, cfg, time.Now)
	if err != nil {
		return err
	}
	if *file == "-" {
		_, err := in.stdout.Write(body)
		return err
	}
	return writeWhole(*file, body)
}

func makeReport(ctx context.Context, cfg *config, now func() time.Time) ([]byte, error) {
	clients, err := caller.NewClients(cfg.Caller.ClientsFile, quiet)
	if err != nil {
		return nil, fmt.Errorf("CLIENTS_FILE: %w", err)
	}
	reader, err := openUsage(ctx, cfg.Usage, servedVersions(), usage.Options{Now: now, Contacts: contacts(clients)})
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	facts := admin.Facts{Now: now()}
	if facts.Plan, err = lifecycle.Inspect(cfg.Gateway.LifecycleFile, servedVersions(), reader, facts.Now); err != nil {
		return nil, err
	}
	if facts.Report, err = reader.Report(ctx, usage.Query{Old: "yes", Per: admin.FileClients}); err != nil {
		return nil, fmt.Errorf("USAGE_DB: %w", err)
	}
	facts.CountNext(func(q usage.Query) (usage.Report, error) { return reader.Report(ctx, q) })
	return admin.File(facts)
}

// writeWhole replaces a file, so that a reader sees the old one or the new one.
func writeWhole(path string, body []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // the first error matters
		}
	}()
	_, err = f.Write(body)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
