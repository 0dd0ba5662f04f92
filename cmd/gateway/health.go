package main

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/admin"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/gateway/metrics"
	"github.com/quotegate/quotegate/gateway/selfcheck"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/guard"
	"github.com/quotegate/quotegate/shared/rpc"
)

// health returns what the page about this process shows. It has the same sources as
// the metrics.
func (s *service) health(cfg *config, from metrics.Sources, started time.Time) func() []admin.Table {
	return func() []admin.Table {
		return []admin.Table{
			s.processTable(cfg, from, started), registryTable(from), feeTable(from), limiterTable(from.Limiter(), cfg.Limit),
			databaseTable(cfg, from), checkTable(from), settingTable(cfg),
		}
	}
}

func (s *service) processTable(cfg *config, from metrics.Sources, started time.Time) admin.Table {
	row := func(what, value string, wrong bool) admin.Row {
		return admin.Row{Cells: []string{what, value}, Wrong: wrong}
	}
	ready := "ready"
	if err := s.ready(); err != nil {
		ready = err.Error()
	}
	open, dropped, panics := from.Connections(), from.LogDropped(), guard.Total()
	rows := []admin.Row{
		row("State", ready, ready != "ready"),
		row("Version", metrics.Build()["version"], false),
		row("Built with", fmt.Sprintf("%s, %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH), false),
		row("Running", time.Since(started).Round(time.Second).String()+", since "+started.UTC().Format(time.RFC3339), false),
		row("Connections", fmt.Sprintf("%d of %d", open, cfg.MaxConnections), open*10 >= cfg.MaxConnections*9),
		row("Log lines dropped", strconv.FormatUint(dropped, 10), dropped > 0),
		row("Panics caught", fmt.Sprint(panics), panics > 0),
		row("Deployment", s.core.Load().deployment.Name, false),
	}
	for _, warning := range s.core.Load().deployment.Warnings {
		rows = append(rows, row("Warning", warning, true))
	}
	return admin.Table{Title: "Process", Head: []string{"What", "Now"}, Rows: rows}
}

func registryTable(from metrics.Sources) admin.Table {
	t := admin.Table{Title: "Integrator registries", About: "By chain. A chain without an endpoint quotes, but not for integrators.", Head: []string{"Chain", "State", "Endpoints", "Resting"}}
	for _, h := range from.Registries() {
		t.Rows = append(t.Rows, admin.Row{
			Cells: []string{h.Network.String(), string(h.State), strconv.Itoa(h.Endpoints), strconv.Itoa(h.Resting)},
			Wrong: h.State == rpc.Failing || h.State == rpc.OverQuota || h.Resting > 0,
		})
	}
	return t
}

func feeTable(from metrics.Sources) admin.Table {
	t := admin.Table{Title: "Issuer's fees", About: "By source chain, in basis points.", Head: []string{"Chain", "Fee", "Origin", "Age", "Last look-up"}}
	for _, f := range from.IssuerFees() {
		age, last := f.Age.Round(time.Second).String(), "in order"
		switch {
		case f.Err != nil:
			last = f.Err.Error()
		case f.Origin == cctp.BuiltIn:
			last = "never"
		}
		if f.Origin == cctp.BuiltIn {
			age = ""
		}
		t.Rows = append(t.Rows, admin.Row{Cells: []string{f.Source.String(), f.Rate.String(), string(f.Origin), age, last}, Wrong: f.Err != nil || f.Origin == cctp.LastGood})
	}
	return t
}

func limiterTable(l limit.Stats, cfg limit.Config) admin.Table {
	row := func(what string, value any, wrong bool) admin.Row {
		return admin.Row{Cells: []string{what, fmt.Sprint(value)}, Wrong: wrong}
	}
	backend := string(l.Backend)
	if l.Backend == limit.Fallback {
		backend = "memory, because Redis does not answer"
	}
	return admin.Table{Title: "Request budget", Head: []string{"What", "Now"}, Rows: []admin.Row{
		row("Counted in", backend, l.Backend == limit.Fallback),
		row("Requests a minute", cfg.PerMinute, false),
		row("Allowed", l.Allowed, false),
		row("Refused", l.Refused, false),
		row("Passed uncounted", l.Uncounted, l.Uncounted > 0),
		row("Clients in memory", fmt.Sprintf("%d of %d", l.Clients, l.Ceiling), l.Ceiling > 0 && l.Clients*10 >= l.Ceiling*9),
	}}
}

func databaseTable(cfg *config, from metrics.Sources) admin.Table {
	kind := "SQLite in a file"
	switch {
	case cfg.Usage.DB == "":
		kind = "in memory: the counts end with the process"
	case strings.HasPrefix(cfg.Usage.DB, "postgres"):
		kind = "PostgreSQL, shared by all instances"
	}
	t := admin.Table{Title: "Database of the counts", Head: []string{"What", "Now"}, Rows: []admin.Row{{Cells: []string{"Kept", kind}}}}
	for _, note := range from.UsageNotes() {
		t.Rows = append(t.Rows, admin.Row{Cells: []string{"Note", note}, Wrong: true})
	}
	return t
}

// checkTable shows what failed, and how many tests there were.
func checkTable(from metrics.Sources) admin.Table {
	t := admin.Table{Title: "Self-checks", Head: []string{"Test", "Found"}}
	count := map[selfcheck.Outcome]int{}
	for _, r := range from.Checks() {
		count[r.Outcome]++
		if r.Outcome == selfcheck.Failed {
			t.Rows = append(t.Rows, admin.Row{Cells: []string{r.Name, r.Detail}, Wrong: true})
		}
	}
	t.About = fmt.Sprintf("Of endpoints and contracts, in the last round: %d ok, %d failed, %d not tested. The failed ones are:", count[selfcheck.OK], count[selfcheck.Failed], count[selfcheck.NotTested])
	return t
}

func settingTable(cfg *config) admin.Table {
	t := admin.Table{Title: "Configuration", About: "Secrets are hidden.", Head: []string{"Variable", "Value", "From"}}
	var unset []string
	for _, s := range cfg.shown {
		if s.value == `""` && s.from == "default" {
			unset = append(unset, s.name)
			continue
		}
		t.Rows = append(t.Rows, admin.Row{Cells: []string{s.name, s.value, s.from}})
	}
	t.About += " Not set, and without a default: " + strings.Join(unset, ", ") + "."
	return t
}
