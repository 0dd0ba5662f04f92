package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"text/template"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/cli"
	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/admin"
	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/shared/api"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/humanize"
	"github.com/quotegate/quotegate/shared/jsonfile"
)

//go:embed *.txt
var textFiles embed.FS

// texts are what commands print for people, each in a file.
var texts = template.Must(template.New("").Funcs(template.FuncMap{
	"stamp": humanize.Timestamp, "share": humanize.Percent, "headers": lifecycle.ResponseHeaders,
}).ParseFS(textFiles, "*.txt"))

// servedVersions are the versions that this program serves, whatever the deployment.
func servedVersions() []string {
	return gateway.Names(gateway.Modules(api.Service{Deployment: chain.Reference()}))
}

// openUsage opens the counts of a service for reading, with what CLIENTS_FILE says about
// the clients.
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

func writeJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// configured is a command that needs the configuration.
func configured(run func(context.Context, invocation, *config) error) func(context.Context, invocation) error {
	return func(ctx context.Context, in invocation) error {
		cfg, err := readConfig(ctx, in.env)
		if err != nil {
			return err
		}
		return run(ctx, in, cfg)
	}
}

// showConfig shows what is in force, where it came from, and what is allowed, also for a
// configuration with mistakes, so that they can be found.
func showConfig(ctx context.Context, in invocation) error {
	table := tabwriter.NewWriter(in.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "VARIABLE\tVALUE\tFROM\tLIMITS")
	for _, s := range settings(in.env) {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", s.name, s.shown(), s.from, s.limits)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := readConfig(ctx, in.env)
	return err
}

func showVersion(_ context.Context, in invocation) error {
	_, err := fmt.Fprintln(in.stdout, cli.Version("gateway"))
	return err
}

// healthTimeout is shorter than the 30 seconds that Docker waits.
const healthTimeout = 5 * time.Second

// askHealth asks the service that has the same environment. It needs no shell and
// no other program, so that it works in an image that has nothing else.
func askHealth(_ context.Context, in invocation, cfg *config) error {
	client := http.Client{Timeout: healthTimeout, Transport: &http.Transport{}} // without a proxy
	// An address without a host, or with 0.0.0.0, is dialled on this machine.
	response, err := client.Get("http://" + cfg.ListenAddr + "/" + servedVersions()[0] + "/swap/healthcheck")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the service answers %s", response.Status)
	}
	_, err = fmt.Fprintln(in.stdout, "ok")
	return err
}

// simulatePlan predicts whom a plan would refuse, from the calls in USAGE_DB.
func simulatePlan(ctx context.Context, in invocation, cfg *config) error {
	plan, err := lifecycle.Read(in.args[0], servedVersions())
	if err != nil {
		return err
	}
	reader, closeDB, err := openUsage(ctx, cfg, servedVersions(), time.Now())
	if err != nil {
		return err
	}
	defer closeDB()
	simulation, err := reader.Simulate(ctx, plan)
	if err != nil {
		return fmt.Errorf("USAGE_DB: %w", err)
	}
	if in.json {
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
	Warnings []string            `json:"warnings"` // about the counts
	Versions []lifecycle.Outlook `json:"versions"` // of a valid plan
}

// checkPlan describes a plan at a time, or returns all its faults. With USAGE_DB it
// also says what its gates make of the counts.
func checkPlan(ctx context.Context, in invocation, cfg *config) error {
	return checkPlanOf(ctx, in, cfg, servedVersions(), time.Now())
}

func checkPlanOf(ctx context.Context, in invocation, cfg *config, versions []string, now time.Time) error {
	c := checked{
		File:     in.args[0],
		Faults:   []string{},
		At:       in.at.UTC(),
		Warnings: []string{},
		Versions: []lifecycle.Outlook{},
	}
	if c.At.IsZero() {
		c.At = now.UTC().Truncate(time.Second)
	}
	plan, err := jsonfile.Load(c.File, jsonfile.MaxSize, func(data []byte) (*lifecycle.Plan, error) {
		c.Hash = lifecycle.Hash(data)
		return lifecycle.Parse(data, versions)
	})
	switch {
	case err != nil && in.json:
		c.Hash = ""
		c.Faults = strings.Split(strings.TrimPrefix(err.Error(), c.File+":\n"), "\n")
		return errors.Join(writeJSON(in.stdout, c), fmt.Errorf("%s is not a valid plan", c.File))
	case err != nil:
		return err
	}
	c.Valid = true
	c.Versions = plan.Outlook(c.At)
	c.readGates(ctx, cfg, versions, now)
	if in.json {
		return writeJSON(in.stdout, c)
	}
	return texts.ExecuteTemplate(in.stdout, "plan.txt", c)
}

// readGates adds what the counts say about the gates of the plan now, if there is a
// database.
func (c *checked) readGates(ctx context.Context, cfg *config, versions []string, now time.Time) {
	if cfg.Usage.DB == "" {
		return
	}
	reader, closeDB, err := openUsage(ctx, cfg, versions, now)
	if err != nil {
		c.Warnings = append(c.Warnings, fmt.Sprintf("the gates are not compared with the counts: %v", err))
		return
	}
	defer closeDB()
	snapshot, err := lifecycle.Inspect(c.File, versions, reader, now)
	if err != nil {
		c.Warnings = append(c.Warnings, err.Error())
	}
	for i, v := range snapshot.Versions {
		found := []string{v.Warning, v.Risk}
		if v.Gate != nil && v.Gate.Why != "" {
			found = append(found, "the gate holds now: "+v.Gate.Why)
		}
		for _, warning := range found {
			if warning != "" && !slices.Contains(c.Versions[i].Warnings, warning) {
				c.Versions[i].Warnings = append(c.Versions[i].Warnings, warning)
			}
		}
	}
}

// writeReport is `gateway report`: it writes the operator's page as a file of its
// own. The database and the plan are only read.
func writeReport(ctx context.Context, in invocation, cfg *config) error {
	if in.file == "" {
		return usageError(in.usage)
	}
	facts := admin.Facts{Now: time.Now(), Current: gateway.Current}
	reader, closeDB, err := openUsage(ctx, cfg, servedVersions(), facts.Now)
	if err != nil {
		return err
	}
	defer closeDB()
	facts.Plan, err = lifecycle.Inspect(cfg.Gateway.LifecycleFile, servedVersions(), reader, facts.Now)
	if err != nil {
		return err
	}
	facts.Report, err = reader.Report(ctx, evidence.Query{Old: "yes", Per: admin.FileClients})
	if err != nil {
		return fmt.Errorf("USAGE_DB: %w", err)
	}
	facts.Look(func(q evidence.Query) (evidence.Report, error) { return reader.Report(ctx, q) })
	body, err := admin.File(facts)
	if err != nil {
		return err
	}
	if in.file != "-" {
		return os.WriteFile(in.file, body, 0o600)
	}
	_, err = in.stdout.Write(body)
	return err
}

// backUp is `gateway backup`: it copies the SQLite database of USAGE_DB while the
// service may be writing to it.
func backUp(ctx context.Context, in invocation, cfg *config) error {
	if err := store.Backup(ctx, cfg.Usage, in.args[0]); err != nil {
		return err
	}
	_, err := fmt.Fprintf(in.stdout, "The database is in %s. It holds the secret that hashes addresses: "+
		"keep it as safe as the original.\n", in.args[0])
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
	}{name, key, hash, file, known, len(client.Keys)})
}
