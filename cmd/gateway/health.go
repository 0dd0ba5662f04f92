package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/admin"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/gateway/metrics"
	"github.com/quotegate/quotegate/gateway/selfcheck"
	"github.com/quotegate/quotegate/shared/buildinfo"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/humanize"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/safego"
)

// health returns the tables of the health page. They have the same sources as the metrics.
func (s *service) health(cfg *config, from metrics.Sources, started time.Time) func() []admin.Table {
	return func() []admin.Table {
		return []admin.Table{
			s.processTable(cfg, from, started),
			registryTable(from),
			feeTable(cfg, from),
			limiterTable(from.Limiter(), cfg.Limit),
			databaseTable(cfg, from),
			checkTable(from),
			settingTable(cfg),
		}
	}
}

func row(wrong bool, cells ...any) admin.Row { return admin.Row{Cells: cells, Wrong: wrong} }

func (s *service) processTable(cfg *config, from metrics.Sources, started time.Time) admin.Table {
	ready := "ready"
	if err := s.ready(); err != nil {
		ready = err.Error()
	}
	open := from.Connections()
	dropped := from.LogDropped()
	panics := safego.Panics()
	core := s.core.Load()
	rows := []admin.Row{
		row(ready != "ready", "State", ready),
		row(false, "Instance", s.recorder.Instance()),
		row(false, "Version", buildinfo.Release),
		row(false, "Built with", fmt.Sprintf("%s, %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH)),
		row(false, "Running since", humanize.DateTime(started)+" ("+humanize.Ago(started, time.Now())+")"),
		row(open*10 >= cfg.MaxConnections*9, "Connections", fmt.Sprintf("%d of %d", open, cfg.MaxConnections)),
		row(dropped > 0, "Log lines dropped", dropped),
		row(panics > 0, "Panics caught", panics),
		row(false, "Deployment", core.deployment.Name),
	}
	plan := from.Lifecycle().Plan
	for _, warning := range slices.Concat(core.deployment.Warnings, core.endpoints.Warnings(), plan.Warnings()) {
		rows = append(rows, row(true, "Warning", warning))
	}
	return admin.Table{Title: "Process", Head: []string{"What", "Now"}, Rows: rows}
}

func registryTable(from metrics.Sources) admin.Table {
	t := admin.Table{
		Title: "Integrator registries",
		About: "Without an endpoint, a chain has no quotes for integrators.",
		Head:  []string{"Chain", "State", "Endpoints", "Resting"},
	}
	for _, h := range from.Registries() {
		wrong := h.State == rpc.Failing || h.State == rpc.OverQuota || h.State == rpc.Disagrees || h.Resting > 0
		r := row(wrong, h.Network.Name(), h.State, h.Endpoints, h.Resting)
		r.Unset = h.State == rpc.NoEndpoint
		t.Rows = append(t.Rows, r)
	}
	return t
}

func feeTable(cfg *config, from metrics.Sources) admin.Table {
	t := admin.Table{
		Title: "Issuer fees",
		About: "By source chain, in basis points.",
		Head:  []string{"Chain", "Fee", "Origin", "Age", "Last lookup"},
	}
	for _, f := range from.IssuerFees() {
		age := humanize.Span(f.Age)
		last := "OK"
		if f.Origin == fee.BuiltIn {
			age = "not known"
			last = "never"
		}
		if f.Err != nil {
			last = f.Err.Error()
		}
		r := row(f.Err != nil || f.Origin == fee.LastGood, f.Source.Name(), f.Rate, f.Origin, age, last)
		r.Unset = cfg.IssuerFees.FeeURL == ""
		t.Rows = append(t.Rows, r)
	}
	return t
}

func limiterTable(l limit.Stats, cfg limit.Config) admin.Table {
	backend := string(l.Backend)
	if l.Backend == limit.Fallback {
		backend = "memory: Redis does not answer"
	}
	crowded := l.Ceiling > 0 && l.Sources*10 >= l.Ceiling*9
	return admin.Table{Title: "Rate limit", Head: []string{"What", "Now"}, Rows: []admin.Row{
		row(l.Backend == limit.Fallback, "Counted in", backend),
		row(false, "Quotes per minute", cfg.PerMinute),
		row(false, "Allowed", l.Allowed),
		row(false, "Refused", l.Refused),
		row(l.Forgotten > 0, "Forgotten early", l.Forgotten),
		row(crowded, "Sources in memory", fmt.Sprintf("%d of %d", l.Sources, l.Ceiling)),
	}}
}

func databaseTable(cfg *config, from metrics.Sources) admin.Table {
	kind := "SQLite file"
	switch {
	case cfg.Usage.DB == "":
		kind = "memory: lost on restart"
	case strings.HasPrefix(cfg.Usage.DB, "postgres"):
		kind = "PostgreSQL, shared"
	}
	storage := row(false, "Storage", kind)
	storage.Unset = cfg.Usage.DB == ""
	t := admin.Table{Title: "Usage database", Head: []string{"What", "Now"}, Rows: []admin.Row{storage}}
	for _, note := range from.UsageNotes() {
		t.Rows = append(t.Rows, row(true, "Note", note))
	}
	return t
}

// checkTable shows the failed tests and the totals.
func checkTable(from metrics.Sources) admin.Table {
	results := from.Checks()
	sum, _ := tally(results)
	t := admin.Table{
		Title: "Self-checks",
		About: "Endpoints and contracts, last round: " + sum + ".",
		Head:  []string{"Chain", "Test", "Found"},
	}
	for _, r := range results {
		if r.Outcome == selfcheck.Failed {
			test := strings.TrimPrefix(r.Name, fmt.Sprintf("chain %s, ", r.Chain))
			t.Rows = append(t.Rows, row(true, r.Chain.Name(), test, r.Detail))
		}
	}
	return t
}

func settingTable(cfg *config) admin.Table {
	t := admin.Table{Title: "Configuration", About: "Secrets are hidden.", Head: []string{"Variable", "Value", "From"}}
	for _, s := range cfg.settings {
		if s.text != "" || s.from != "default" {
			t.Rows = append(t.Rows, row(false, s.name, s.shown(), s.from))
		}
	}
	return t
}

// healthTimeout is shorter than the 30 seconds that Docker waits.
const healthTimeout = 5 * time.Second

// askHealth is `gateway health`: it queries the service with the same environment. It needs no
// shell and no other program, so that it works in an image without any.
func askHealth(*flag.FlagSet) action {
	return configured(func(_ context.Context, in invocation, cfg *config) error {
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
	})
}
