package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/quotegate/quotegate/gateway/admin/page"
	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/usage"
)

const reportUsage = "usage: gateway report -o FILE"

// writeReport is `gateway report`: it writes the operator's page as a file of its
// own. The database and the plan are only read.
func writeReport(ctx context.Context, in invocation) error {
	flags := flag.NewFlagSet("gateway report", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error says what is wrong
	file := flags.String("o", "", "the file to write")
	if err := flags.Parse(in.args); errors.Is(err, flag.ErrHelp) {
		_, err := fmt.Fprintln(in.stdout, reportUsage)
		return err
	} else if err != nil {
		return usageError(fmt.Sprintf("%v; %s", err, reportUsage))
	}
	if *file == "" || flags.NArg() > 0 {
		return usageError(reportUsage)
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
	clients, err := caller.NewClients(cfg.Caller.ClientsFile, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, fmt.Errorf("CLIENTS_FILE: %w", err)
	}
	versions := servedVersions()
	reader, err := usage.Open(ctx, cfg.Usage, usage.Options{Versions: versions, Current: versions[0], Now: now, Contacts: contacts(clients)})
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	facts := page.Facts{Now: now()}
	if facts.Plan, err = lifecycle.Inspect(cfg.Gateway.LifecycleFile, versions, reader, facts.Now); err != nil {
		return nil, err
	}
	if facts.Report, err = reader.Report(ctx, usage.Query{Old: "yes", Per: page.FileClients}); err != nil {
		return nil, fmt.Errorf("USAGE_DB: %w", err)
	}
	facts.CountNext(func(q usage.Query) (usage.Report, error) { return reader.Report(ctx, q) })
	return page.File(facts)
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
