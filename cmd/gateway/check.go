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
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/gateway/selfcheck"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/rpc"
)

const (
	checkTimeout  = time.Minute     // for all tests
	answerTimeout = 5 * time.Second // for the database
)

// quiet is the log of the parts under test. The results say what went wrong.
var quiet = slog.New(slog.DiscardHandler)

// checkService is `gateway check`: it reads the environment as the service would,
// tests what it names, and prints the results. The error says how many tests
// failed.
func checkService(ctx context.Context, in invocation) error {
	flags := flag.NewFlagSet("gateway check", flag.ContinueOnError)
	asJSON := flags.Bool("json", false, "print JSON")
	if rest, err := in.parse(flags, 0); err != nil || rest == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	results := testAll(ctx, in.env)
	count := make(map[selfcheck.Outcome]int)
	for _, r := range results {
		count[r.Outcome]++
	}
	failed := count[selfcheck.Failed]
	var err error
	if *asJSON {
		err = writeJSON(in.stdout, struct {
			OK      bool               `json:"ok"` // no test failed
			Results []selfcheck.Result `json:"results"`
		}{failed == 0, results})
	} else {
		err = writeTable(in.stdout, results, count)
	}
	if err == nil && failed > 0 {
		err = fmt.Errorf("failed tests: %d", failed)
	}
	return err
}

// testAll tests what the environment names, as far as it can be read.
func testAll(ctx context.Context, env environment) []selfcheck.Result {
	cfg, err := readConfig(ctx, env)
	results := []selfcheck.Result{result("configuration", selfcheck.Configuration, err)}
	if err != nil {
		return results
	}
	deployment, r := testDeployment(cfg)
	results = append(results, r, testPlan(cfg.Gateway.LifecycleFile), testClients(cfg.Caller.ClientsFile))
	endpoints, err := cfg.endpoints()
	if err != nil {
		return append(results, result("RPC endpoints", selfcheck.Endpoint, err))
	}
	chains, err := rpc.New(endpoints, rpc.Options{})
	if err != nil {
		return append(results, result("RPC endpoints", selfcheck.Endpoint, err))
	}
	defer chains.Close()

	var onChain, fees []selfcheck.Result
	var redis, database selfcheck.Result
	var group errgroup.Group
	group.Go(func() error { onChain = selfcheck.OnChain(ctx, deployment, chains, quiet); return nil })
	group.Go(func() error { fees = testIssuer(ctx, cfg.IssuerFees, deployment); return nil })
	group.Go(func() error { redis = testRedis(ctx, cfg.Limit); return nil })
	group.Go(func() error { database = testDatabase(ctx, cfg.Usage); return nil })
	_ = group.Wait() // the results have the errors
	results = append(append(results, onChain...), fees...)
	return append(results, redis, database)
}

// result is that of a test which passes unless there is an error.
func result(name string, what selfcheck.What, err error) selfcheck.Result {
	if err != nil {
		return selfcheck.Result{Name: name, What: what, Outcome: selfcheck.Failed, Detail: oneLine(err.Error())}
	}
	return selfcheck.Result{Name: name, What: what, Outcome: selfcheck.OK}
}

func notTested(name string, what selfcheck.What, why string) selfcheck.Result {
	return selfcheck.Result{Name: name, What: what, Outcome: selfcheck.NotTested, Detail: why}
}

// oneLine joins the lines of an error that lists several problems.
func oneLine(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(text), ":\n", ": "), "\n", "; ")
}

// testDeployment returns nil for a deployment that cannot be read.
func testDeployment(cfg *config) (*chain.Deployment, selfcheck.Result) {
	d, err := cfg.deployment()
	r := result("deployment", selfcheck.Deployment, err)
	if err == nil {
		notes := append([]string{fmt.Sprintf("%q", d.Name)}, d.Warnings...)
		if n, all := untimed(d); n > 0 {
			notes = append(notes, fmt.Sprintf("seconds is not stated for %d of %d pairs, so that clients cannot tell how long these take; measure it from status", n, all))
		}
		r.Detail = strings.Join(notes, "; ")
	}
	return d, r
}

// untimed is how many pairs a deployment does not state the usual time of.
func untimed(d *chain.Deployment) (n, all int) {
	pairs := chain.Pairs()
	for _, p := range pairs {
		if d.Seconds(&p) == 0 {
			n++
		}
	}
	return n, len(pairs)
}

func testPlan(file string) selfcheck.Result {
	const name = "retirement plan"
	if file == "" {
		return notTested(name, selfcheck.Plan, "LIFECYCLE_FILE is not set")
	}
	_, err := lifecycle.Read(file, servedVersions())
	return result(name, selfcheck.Plan, err)
}

func testClients(file string) selfcheck.Result {
	const name = "known clients"
	if file == "" {
		return notTested(name, selfcheck.Clients, "CLIENTS_FILE is not set")
	}
	clients, err := caller.NewClients(file, quiet)
	r := result(name, selfcheck.Clients, err)
	if err == nil {
		r.Detail = strconv.Itoa(len(clients.All()))
	}
	return r
}

// testIssuer asks the issuer's fee service for the fee of every source.
func testIssuer(ctx context.Context, cfg cctp.Config, d *chain.Deployment) (results []selfcheck.Result) {
	const name = "issuer's fees"
	switch {
	case cfg.FeeURL == "":
		return []selfcheck.Result{notTested(name, selfcheck.IssuerFee, "ISSUER_FEE_URL is not set")}
	case d == nil:
		return []selfcheck.Result{notTested(name, selfcheck.IssuerFee, "the deployment, which names the settlement chain, cannot be read")}
	}
	fees, err := cctp.New(cfg, d.Settlement, quiet, nil)
	if err != nil {
		return []selfcheck.Result{result(name, selfcheck.IssuerFee, err)}
	}
	defer fees.Close()
	fees.Warm(ctx)
	for _, s := range fees.State() {
		if s.Err == nil && s.Origin != cctp.Live {
			s.Err = errors.New("no answer in time")
		}
		r := result(fmt.Sprintf("chain %s, issuer's fee", s.Source), selfcheck.IssuerFee, s.Err)
		r.Chain = s.Source
		if s.Err == nil {
			r.Detail = s.Rate.String() + " basis points"
		}
		results = append(results, r)
	}
	return results
}

// testRedis has Redis count a request, as the service does at its start.
func testRedis(ctx context.Context, cfg limit.Config) selfcheck.Result {
	const name = "Redis"
	switch {
	case cfg.RedisURL == "":
		return notTested(name, selfcheck.Redis, "REDIS_URL is not set")
	case cfg.PerMinute == 0:
		return notTested(name, selfcheck.Redis, "RATE_LIMIT is 0, so that nothing is counted")
	}
	limiter, err := limit.New(ctx, cfg, quiet, time.Now)
	if err != nil {
		return result(name, selfcheck.Redis, err)
	}
	defer limiter.Close()
	if limiter.Stats().Backend != limit.Redis {
		err = errors.New("it does not answer within a second, refuses us, or cannot be written to")
	}
	return result(name, selfcheck.Redis, err)
}

func testDatabase(ctx context.Context, cfg usage.Config) selfcheck.Result {
	const name = "usage database"
	if cfg.DB == "" {
		return notTested(name, selfcheck.Database, "USAGE_DB is not set")
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	err := usage.Check(ctx, cfg)
	if errors.Is(err, usage.ErrNoFile) {
		return notTested(name, selfcheck.Database, err.Error())
	}
	return result(name, selfcheck.Database, err)
}

// writeTable writes one line for each result, and a last one that adds them up.
func writeTable(out io.Writer, results []selfcheck.Result, count map[selfcheck.Outcome]int) error {
	width := 0
	for _, r := range results {
		width = max(width, len(r.Name))
	}
	var text strings.Builder
	for _, r := range results {
		line := fmt.Sprintf("%-10s  %-*s  %s", r.Outcome, width, r.Name, r.Detail)
		text.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	fmt.Fprintf(&text, "\n%d ok, %d failed, %d not tested\n", count[selfcheck.OK], count[selfcheck.Failed], count[selfcheck.NotTested])
	_, err := io.WriteString(out, text.String())
	return err
}
