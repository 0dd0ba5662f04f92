package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/cli"
	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/gateway/selfcheck"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/humanize"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/skew"
)

const databaseTimeout = 5 * time.Second

// quiet is the log of the parts under test. The results have the errors.
var quiet = slog.New(slog.DiscardHandler)

// checkService is `gateway check`: it reads the environment as the service would, tests what is
// configured, and prints the results. The error has the number of failed tests.
func checkService(flags *flag.FlagSet) action {
	asJSON := asJSON(flags)
	return func(ctx context.Context, in invocation) error {
		results, notices := testAll(ctx, in.env)
		sum, failed := tally(results)
		var err error
		if *asJSON {
			err = writeJSON(in.stdout, struct {
				OK      bool               `json:"ok"` // no test failed
				Results []selfcheck.Result `json:"results"`
				Notices []string           `json:"notices"` // possible improvements
			}{failed == 0, results, notices})
		} else {
			colored := cli.IsTerminal(in.stdout) && in.env["NO_COLOR"] == ""
			err = writeTable(in.stdout, fold(results), sum, notices, colored)
		}
		if err == nil && failed > 0 {
			err = fmt.Errorf("failed tests: %d", failed)
		}
		return err
	}
}

func tally(results []selfcheck.Result) (text string, failed int) {
	count := make(map[selfcheck.Outcome]int)
	for _, r := range results {
		count[r.Outcome]++
	}
	failed = count[selfcheck.Failed]
	text = fmt.Sprintf("%d ok, %d failed, %d not tested", count[selfcheck.OK], failed, count[selfcheck.NotTested])
	return text, failed
}

// testAll tests what the environment configures, as far as it can be parsed. The notices are
// possible improvements.
func testAll(ctx context.Context, env environment) (results []selfcheck.Result, notices []string) {
	notices = []string{} // never null in JSON
	add := func(name string, what selfcheck.What, detail string, err error) {
		results = append(results, result(name, what, detail, err))
	}
	// test tests what a variable configures, if it is set.
	test := func(name string, what selfcheck.What, variable, value string, run func() (detail string, err error)) {
		if value == "" {
			add(name, what, "", notTested(variable+" is not set"))
			return
		}
		detail, err := run()
		add(name, what, detail, err)
	}
	cfg, err := readConfig(ctx, env)
	add("configuration", selfcheck.Configuration, "", err)
	if err != nil {
		return results, notices
	}
	if cfg.warning != "" {
		notices = append(notices, cfg.warning)
	}
	made := &service{log: quiet, clock: skew.New(skew.Options{})}
	running := runningInstances(ctx, cfg.Usage, made.clock) // compares the clocks before chains are tested
	c, err := made.newCore(ctx, cfg, nil)
	detail := ""
	if err == nil {
		defer c.close(nil)
		detail = describe(c.deployment)
		notices = append(notices, c.endpoints.Warnings()...)
	}
	add("deployment", selfcheck.Deployment, detail, err)
	test("retirement plan", selfcheck.Plan, "LIFECYCLE_FILE", cfg.Gateway.LifecycleFile, func() (string, error) {
		plan, _, err := readPlan(cfg.Gateway.LifecycleFile, servedVersions())
		if err != nil {
			return "", err
		}
		return strings.Join(plan.Warnings(), "; "), nil
	})
	test("known clients", selfcheck.Clients, "CLIENTS_FILE", cfg.Caller.ClientsFile, func() (string, error) {
		clients, err := caller.NewClients(cfg.Caller.ClientsFile, quiet)
		if err != nil {
			return "", err
		}
		return strconv.Itoa(len(clients.All())), nil
	})
	if c != nil {
		results = append(results, selfcheck.OnChain(ctx, c.deployment, c.chains, quiet)...)
		results = append(results, testIssuer(cfg.IssuerFees, c.issuer)...)
	}
	test("Redis", selfcheck.Redis, "REDIS_URL", cfg.Limit.RedisURL, func() (string, error) {
		return "", testRedis(ctx, cfg.Limit)
	})
	test("usage database", selfcheck.Database, "USAGE_DB", cfg.Usage.DB, func() (string, error) {
		ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
		defer cancel()
		return evidence.Check(ctx, cfg.Usage)
	})
	for _, notice := range []string{made.clock.Skew().Note(), running} {
		if notice != "" {
			notices = append(notices, notice)
		}
	}
	return results, notices
}

// runningInstances says which instances write to the database. It is empty if there are none, or
// the database cannot be read, which its test says.
func runningInstances(ctx context.Context, cfg evidence.Config, clock *skew.Clock) string {
	if cfg.DB == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
	defer cancel()
	instances, at, err := evidence.Running(ctx, cfg, clock)
	if err != nil || len(instances) == 0 {
		return ""
	}
	var all []string
	for _, i := range instances {
		plan := "no plan"
		if i.Plan != "" {
			plan = "plan " + i.Plan
		}
		state := ""
		if i.Silent {
			state = "silent: "
		}
		all = append(all, fmt.Sprintf("%s, %swrote %s, follows %s", i.Name, state, humanize.Ago(i.Written, at), plan))
	}
	return "instances in the usage database: " + strings.Join(all, "; ")
}

// notTested is why there was nothing to test.
type notTested string

func (e notTested) Error() string { return string(e) }

// result is the result of a test, which passes unless there is an error. The lines of an error
// that lists several problems are joined.
func result(name string, what selfcheck.What, detail string, err error) selfcheck.Result {
	r := selfcheck.Result{Name: name, What: what, Outcome: selfcheck.OK, Detail: detail}
	if err != nil {
		r.Outcome = selfcheck.Failed
		r.Detail = strings.NewReplacer(":\n", ": ", "\n", "; ").Replace(strings.TrimSpace(err.Error()))
	}
	if _, skipped := errors.AsType[notTested](err); skipped {
		r.Outcome = selfcheck.NotTested
	}
	return r
}

// describe is what an operator should know about a deployment.
func describe(d *chain.Deployment) string {
	notes := append([]string{fmt.Sprintf("%q", d.Name)}, d.Warnings...)
	var unserved []string
	for _, p := range d.Unserved() {
		unserved = append(unserved,
			fmt.Sprintf("%s on %s to %s on %s", p.SrcToken.Symbol, p.Src, p.DstToken.Symbol, p.Dst))
	}
	if unserved != nil {
		notes = append(notes, fmt.Sprintf("it serves %s pairs; for these it lacks a pool or the receiver: %s",
			servedPairs(d), strings.Join(unserved, ", ")))
	}
	return strings.Join(notes, "; ")
}

// testIssuer tests whether the issuer's service has answered for every source.
func testIssuer(cfg cctp.Config, issuer *cctp.Issuer) (results []selfcheck.Result) {
	if cfg.FeeURL == "" {
		err := notTested("ISSUER_FEE_URL is not set")
		return []selfcheck.Result{result("issuer's fees", selfcheck.IssuerFee, "", err)}
	}
	for _, s := range issuer.State() {
		if s.Err == nil && s.Origin != fee.Live {
			s.Err = errors.New("timed out")
		}
		name := fmt.Sprintf("chain %s, issuer's fee", s.Source)
		r := result(name, selfcheck.IssuerFee, s.Rate.String()+" basis points", s.Err)
		r.Chain = s.Source
		results = append(results, r)
	}
	return results
}

// testRedis counts a request in Redis, as the service does when it starts.
func testRedis(ctx context.Context, cfg limit.Config) error {
	if cfg.PerMinute == 0 {
		return notTested("RATE_LIMIT is 0, so that nothing is counted")
	}
	limiter, err := limit.New(ctx, cfg, quiet, time.Now)
	if err != nil {
		return err
	}
	defer limiter.Close()
	if limiter.Stats().Backend != limit.Redis {
		return errors.New("it does not answer within a second, refuses us, or cannot be written to")
	}
	return nil
}

// outcomes are in the order of the table. Their colors are equally long, so that the columns stay aligned.
var outcomes = []struct {
	outcome selfcheck.Outcome
	color   string
}{
	{selfcheck.Failed, "\x1b[31m"},
	{selfcheck.OK, "\x1b[32m"},
	{selfcheck.NotTested, "\x1b[90m"},
}

// fold makes one result of all of a chain that has no endpoint.
func fold(results []selfcheck.Result) (folded []selfcheck.Result) {
	configured := map[chain.ID]bool{}
	skipped := map[chain.ID]int{}
	for _, r := range results {
		configured[r.Chain] = configured[r.Chain] || r.What == selfcheck.Endpoint
		if r.Outcome == selfcheck.NotTested {
			skipped[r.Chain]++
		}
	}
	for _, r := range results {
		switch {
		case r.Chain == 0 || configured[r.Chain] || r.Outcome != selfcheck.NotTested:
			folded = append(folded, r)
		case skipped[r.Chain] > 0:
			checks := humanize.Count(skipped[r.Chain], "check", "checks")
			r.Name = "chain " + r.Chain.String()
			r.Detail = rpc.VariablePrefix + r.Chain.String() + " is not set; " + checks + " skipped"
			folded = append(folded, r)
			skipped[r.Chain] = 0
		}
	}
	return folded
}

// writeTable writes a line for each result, failures first, then the notices, and the totals.
func writeTable(out io.Writer, results []selfcheck.Result, sum string, notices []string, colored bool) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, o := range outcomes {
		label := string(o.outcome)
		if colored {
			label = o.color + label + "\x1b[0m"
		}
		for _, r := range results {
			if r.Outcome == o.outcome {
				fmt.Fprintf(table, "%s\t%s\t%s\n", label, r.Name, r.Detail)
			}
		}
	}
	for _, notice := range notices {
		fmt.Fprintf(table, "notice: %s\n", notice)
	}
	fmt.Fprintf(table, "\n%s\n", sum)
	return table.Flush()
}
