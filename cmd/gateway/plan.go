package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/shared/jsonfile"
)

// simulatePlan is `gateway plan simulate`: it says which clients a plan would refuse, by the calls
// in USAGE_DB.
func simulatePlan(flags *flag.FlagSet) action {
	asJSON := asJSON(flags)
	return configured(func(ctx context.Context, in invocation, cfg *config) error {
		plan, _, err := readPlan(in.args[0], servedVersions())
		if err != nil {
			return err
		}
		counts, err := openUsage(ctx, cfg, servedVersions(), time.Now())
		if err != nil {
			return err
		}
		defer counts.Close()
		report, err := counts.Report(ctx, evidence.Query{Per: 1})
		if err != nil {
			return fmt.Errorf("USAGE_DB: %w", err)
		}
		simulation := report.Simulate(plan, lifecycle.ReadGates(plan, counts, report.At))
		if *asJSON {
			return writeJSON(in.stdout, simulation)
		}
		return simulation.Print(in.stdout)
	})
}

// checked is what `gateway plan check -json` prints.
type checked struct {
	File     string              `json:"file"`
	Hash     string              `json:"hash,omitempty"`
	Valid    bool                `json:"valid"`
	Faults   []string            `json:"faults"` // of an invalid plan
	At       time.Time           `json:"at"`
	Warnings []string            `json:"warnings"` // about the database
	Versions []lifecycle.Outlook `json:"versions"` // of a valid plan
}

// checkPlan is `gateway plan check`.
func checkPlan(flags *flag.FlagSet) action {
	p := planCheckOf(flags)
	return configured(func(ctx context.Context, in invocation, cfg *config) error {
		return p.run(ctx, in, cfg, servedVersions(), time.Now())
	})
}

// planCheck has the flags of `gateway plan check`.
type planCheck struct {
	at   time.Time // zero: now
	json *bool
}

func planCheckOf(flags *flag.FlagSet) *planCheck {
	p := &planCheck{json: asJSON(flags)}
	flags.TextVar(&p.at, "at", time.Time{},
		"show the plan as it is at this `TIME`, such as 2027-01-12T14:05:00Z, instead of now")
	return p
}

// run describes a plan at a time, or returns all its faults. With USAGE_DB, it also evaluates
// the gates.
func (p *planCheck) run(ctx context.Context, in invocation, cfg *config, versions []string, now time.Time) error {
	c := checked{
		File:     in.args[0],
		Faults:   []string{},
		At:       p.at.UTC(),
		Warnings: []string{},
		Versions: []lifecycle.Outlook{},
	}
	if c.At.IsZero() {
		c.At = now.UTC().Truncate(time.Second)
	}
	plan, hash, err := readPlan(c.File, versions)
	switch {
	case err != nil && *p.json:
		c.Faults = strings.Split(strings.TrimPrefix(err.Error(), c.File+":\n"), "\n")
		return errors.Join(writeJSON(in.stdout, c), fmt.Errorf("%s is not a valid plan", c.File))
	case err != nil:
		return err
	}
	c.Hash = hash
	c.Valid = true
	c.Versions = plan.Outlook(c.At)
	c.readGates(ctx, cfg, versions, now)
	if *p.json {
		return writeJSON(in.stdout, c)
	}
	return texts.ExecuteTemplate(in.stdout, "plan.txt", c)
}

// readPlan reads a plan, and the hash of its file.
func readPlan(file string, versions []string) (plan *lifecycle.Plan, hash string, err error) {
	plan, err = jsonfile.Load(file, jsonfile.MaxSize, func(data []byte) (*lifecycle.Plan, error) {
		hash = lifecycle.Hash(data)
		return lifecycle.Parse(data, versions, deletedVersions())
	})
	return plan, hash, err
}

// deletedVersions are those of which no code is left. A plan may name them, and calls count under
// their names.
func deletedVersions() (names []string) {
	for _, v := range gateway.RetiredVersions {
		names = append(names, v.Name)
	}
	return names
}

// readGates evaluates the plan now, if there is a database: against its counts, and as a
// change of the plan that it has.
func (c *checked) readGates(ctx context.Context, cfg *config, versions []string, now time.Time) {
	if cfg.Usage.DB == "" {
		return
	}
	counts, err := openUsage(ctx, cfg, versions, now)
	if err != nil {
		c.Warnings = append(c.Warnings, fmt.Sprintf("the gates are not compared with the counts: %v", err))
		return
	}
	defer counts.Close()
	keeper, err := lifecycle.New(lifecycle.Options{
		File: c.File, Versions: versions, Deleted: deletedVersions(), Usage: counts, ReadOnly: true,
		Now: func() time.Time { return now }, Log: quiet,
	})
	if err != nil {
		c.Warnings = append(c.Warnings, err.Error())
		return
	}
	keeper.Poll()
	snapshot := keeper.Snapshot()
	if snapshot.Refused != nil {
		for _, fault := range snapshot.Refused.Faults {
			c.Warnings = append(c.Warnings, "a gateway refuses this plan now: "+fault)
		}
		return
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

// openUsage opens the counts of a service for reading, with the clients of CLIENTS_FILE.
func openUsage(ctx context.Context, cfg *config, versions []string, now time.Time) (*evidence.DB, error) {
	clients, err := caller.NewClients(cfg.Caller.ClientsFile, quiet)
	if err != nil {
		return nil, fmt.Errorf("CLIENTS_FILE: %w", err)
	}
	return evidence.OpenForReading(ctx, cfg.Usage, evidence.Options{
		Versions: versions,
		Current:  gateway.Current,
		Now:      func() time.Time { return now },
		Known:    clients.FindRecorded,
	})
}
