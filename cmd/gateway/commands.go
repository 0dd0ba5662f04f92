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
	body, err := makeReport(ctx, cfg)
	if err != nil {
		return err
	}
	if *file == "-" {
		_, err := in.stdout.Write(body)
		return err
	}
	return writeWhole(*file, body)
}

func makeReport(ctx context.Context, cfg *config) ([]byte, error) {
	clients, err := caller.NewClients(cfg.Caller.ClientsFile, quiet)
	if err != nil {
		return nil, fmt.Errorf("CLIENTS_FILE: %w", err)
	}
	reader, err := openUsage(ctx, cfg.Usage, servedVersions(), usage.Options{Contacts: contacts(clients)})
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	facts := admin.Facts{Now: time.Now()}
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

const keyUsage = `usage: gateway key new NAME, with the client's name as in CLIENTS_FILE ("quoted" if it has spaces)`

// newKey is `gateway key new`: it prints a key, which is kept nowhere, and what to
// write into the clients file.
func newKey(_ context.Context, in invocation) error {
	if len(in.args) != 1 {
		return usageError(keyUsage)
	}
	name := in.args[0]
	if err := caller.CheckName(name); err != nil {
		return usageError(fmt.Sprintf("the name: %v; %s", err, keyUsage))
	}
	file := in.env["CLIENTS_FILE"]
	clients, err := caller.NewClients(file, quiet)
	if err != nil {
		return fmt.Errorf("CLIENTS_FILE: %w", err)
	}
	key, hash := caller.NewKey()
	where := fmt.Sprintf("Add this to the client in %s. A service that runs reads it within seconds", file)
	line := fmt.Sprintf(`"keys": [%q]`, hash)
	whole := fmt.Sprintf(`{"name": %q, "contact": "", "match": [], %s}`, name, line) // the client
	client, known := clients.Find(name)
	switch {
	case known && client.Keys > 0:
		where += ". The client has other keys: keep their hashes in the list while they are in use"
	case known:
	case file == "":
		where = "CLIENTS_FILE is not set. Write this file, and name it there"
		line = `{"clients": [` + whole + `]}`
	default:
		where = fmt.Sprintf("%s has no such client yet. Add it to the list, with a contact. A service that runs reads it within seconds", file)
		line = whole
	}
	_, err = fmt.Fprintf(in.stdout, "The key of %s, to be sent as the header API-Key. It is shown only now, so hand it over safely:\n\n%s\n\n%s:\n\n%s\n", name, key, where, line)
	return err
}
