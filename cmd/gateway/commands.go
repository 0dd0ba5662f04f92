package main

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/admin"
	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/jsonfile"
	"github.com/quotegate/quotegate/shared/words"
)

//go:embed *.txt
var textFiles embed.FS

// texts are what commands print for people, each in a file.
var texts = template.Must(template.New("").Funcs(template.FuncMap{
	"stamp": words.Stamp, "share": words.Percent, "headers": lifecycle.ResponseHeaders,
}).ParseFS(textFiles, "*.txt"))

// servedVersions are the versions that this program serves, whatever the deployment.
func servedVersions() []string {
	return gateway.Names(gateway.Modules(gateway.Core{Deployment: chain.Reference()}))
}

func openUsage(ctx context.Context, cfg usage.Config, versions []string, o usage.Options) (*usage.Reader, error) {
	o.Versions, o.Current = versions, versions[0]
	return usage.Open(ctx, cfg, o)
}

// simulatePlan predicts whom a plan would refuse, from the calls in USAGE_DB.
func simulatePlan(ctx context.Context, in invocation, cfg *config) error {
	plan, err := lifecycle.Read(in.args[0], servedVersions())
	if err != nil {
		return err
	}
	reader, err := openUsage(ctx, cfg.Usage, servedVersions(), usage.Options{})
	if err != nil {
		return err
	}
	defer reader.Close()
	simulation, err := reader.Simulate(ctx, plan)
	if err != nil {
		return fmt.Errorf("USAGE_DB: %w", err)
	}
	if in.flags["json"] == "true" {
		return writeJSON(in.stdout, simulation)
	}
	return simulation.Print(in.stdout)
}

// checked is what `gateway plan check -json` prints.
type checked struct {
	File     string              `json:"file"`
	Hash     string              `json:"hash,omitempty"`
	Valid    bool                `json:"valid"`
	Faults   []string            `json:"faults"` // of a plan that is not valid
	At       time.Time           `json:"at"`
	Warnings []string            `json:"warnings"` // about the file
	Versions []lifecycle.Outlook `json:"versions"` // of a valid plan
}

// checkPlan describes a plan at a time, or returns all its faults. With USAGE_DB it
// also says what its gates make of the counts.
func checkPlan(ctx context.Context, in invocation) error {
	return checkPlanFor(ctx, in, servedVersions(), time.Now())
}

func checkPlanFor(ctx context.Context, in invocation, versions []string, now time.Time) error {
	c := checked{File: in.args[0], Faults: []string{}, Versions: []lifecycle.Outlook{}, Warnings: clockWarnings(in.args[0], now)}
	moment, err := time.Parse(time.RFC3339, cmp.Or(in.flags["at"], words.Stamp(now)))
	if err != nil {
		return usageError(fmt.Sprintf("-at %q is not a time in RFC 3339, like 2027-01-12T14:05:00Z", in.flags["at"]))
	}
	c.At = moment.UTC()
	plan, err := jsonfile.Load(c.File, jsonfile.MaxSize, func(data []byte) (*lifecycle.Plan, error) {
		c.Hash = lifecycle.Hash(data)
		return lifecycle.Parse(data, versions)
	})
	if err == nil {
		c.Valid, c.Versions = true, plan.Outlook(c.At)
		database := setting{name: "USAGE_DB", secret: true, typ: reflect.TypeFor[string]()}
		if database.read(in.env); database.err != nil {
			return database.err
		}
		c.readGates(ctx, usage.Config{DB: database.text}, versions, now)
	}
	asJSON := in.flags["json"] == "true"
	switch {
	case asJSON && err != nil:
		c.Hash, c.Faults = "", strings.Split(strings.TrimPrefix(err.Error(), c.File+":\n"), "\n")
		return errors.Join(writeJSON(in.stdout, c), fmt.Errorf("%s is not a valid plan", c.File))
	case err != nil:
		return err
	case asJSON:
		return writeJSON(in.stdout, c)
	}
	return texts.ExecuteTemplate(in.stdout, "plan.txt", c)
}

// readGates adds what the counts say about the gates of the plan now.
func (c *checked) readGates(ctx context.Context, cfg usage.Config, versions []string, now time.Time) {
	if cfg.DB == "" {
		return
	}
	reader, err := openUsage(ctx, cfg, versions, usage.Options{Now: func() time.Time { return now }})
	if err != nil {
		c.Warnings = append(c.Warnings, fmt.Sprintf("the gates are not compared with the counts: %v", err))
		return
	}
	defer reader.Close()
	snapshot, err := lifecycle.Inspect(c.File, versions, reader, now)
	if err != nil {
		c.Warnings = append(c.Warnings, err.Error())
	}
	for i, v := range snapshot.Versions {
		if v.Warning != "" && !slices.Contains(c.Versions[i].Warnings, v.Warning) {
			c.Versions[i].Warnings = append(c.Versions[i].Warnings, v.Warning)
		}
		if v.Gate != nil && v.Gate.Why != "" {
			c.Versions[i].Warnings = append(c.Versions[i].Warnings, "the gate holds now: "+v.Gate.Why)
		}
	}
}

// clockWarnings tells of a file that was changed in the future.
func clockWarnings(file string, now time.Time) []string {
	info, err := os.Stat(file)
	if err != nil || info.ModTime().Sub(now) < time.Minute {
		return []string{}
	}
	return []string{fmt.Sprintf("the file was changed at %s, and the time here is %s: one of the clocks is wrong, and stages change by the clock of each gateway",
		words.Stamp(info.ModTime()), words.Stamp(now))}
}

// writeReport is `gateway report`: it writes the operator's page as a file of its
// own. The database and the plan are only read.
func writeReport(ctx context.Context, in invocation, cfg *config) error {
	clients, err := caller.NewClients(cfg.Caller.ClientsFile, quiet)
	if err != nil {
		return fmt.Errorf("CLIENTS_FILE: %w", err)
	}
	reader, err := openUsage(ctx, cfg.Usage, servedVersions(), usage.Options{Known: clients.Find})
	if err != nil {
		return err
	}
	defer reader.Close()
	facts := admin.Facts{Now: time.Now()}
	if facts.Plan, err = lifecycle.Inspect(cfg.Gateway.LifecycleFile, servedVersions(), reader, facts.Now); err != nil {
		return err
	}
	if facts.Report, err = reader.Report(ctx, usage.Query{Old: "yes", Per: admin.FileClients}); err != nil {
		return fmt.Errorf("USAGE_DB: %w", err)
	}
	facts.CountNext(func(q usage.Query) (usage.Report, error) { return reader.Report(ctx, q) })
	body, err := admin.File(facts)
	if err != nil {
		return err
	}
	if file := in.flags["o"]; file != "-" {
		return writeWhole(file, body)
	}
	_, err = in.stdout.Write(body)
	return err
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
func backUp(ctx context.Context, in invocation, cfg *config) error {
	if err := usage.Backup(ctx, cfg.Usage, in.args[0]); err != nil {
		return err
	}
	_, err := fmt.Fprintf(in.stdout, "The database is in %s. It holds the secret that hashes addresses: keep it as safe as the original.\n", in.args[0])
	return err
}

// newKey is `gateway key new`: it prints a key, which is kept nowhere, and what to
// write into the clients file.
func newKey(_ context.Context, in invocation) error {
	name := in.args[0]
	if err := caller.CheckName(name); err != nil {
		return usageError(fmt.Sprintf("the name: %v; %s", err, in.usage))
	}
	file := in.env["CLIENTS_FILE"]
	clients, err := caller.NewClients(file, quiet)
	if err != nil {
		return fmt.Errorf("CLIENTS_FILE: %w", err)
	}
	key, hash := caller.NewKey()
	client, known := clients.Find(name)
	return texts.ExecuteTemplate(in.stdout, "key.txt", struct {
		Name, Key, Hash, File string
		Known                 bool
		Keys                  int // that it has already
	}{name, key, hash, file, known, client.Keys})
}
