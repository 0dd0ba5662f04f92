package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/gateway/selfcheck"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/rpc"
)

const (
	chainsTimeout   = time.Minute
	databaseTimeout = 5 * time.Second
)

// quiet is the log of the parts under test. The results say what went wrong.
var quiet = slog.New(slog.DiscardHandler)

// checkService is `gateway check`: it reads the environment as the service would,
// tests what it names, and prints the results. The error says how many tests
// failed.
func checkService(ctx context.Context, in invocation) error {
	results, notices := testAll(ctx, in.env)
	sum, failed := tally(results)
	var err error
	if in.json {
		err = writeJSON(in.stdout, struct {
			OK      bool               `json:"ok"` // no test failed
			Results []selfcheck.Result `json:"results"`
			Notices []string           `json:"notices"` // what is right, and could be better
		}{failed == 0, results, notices})
	} else {
		err = writeTable(in.stdout, results, sum, notices)
	}
	if err == nil && failed > 0 {
		err = fmt.Errorf("failed tests: %d", failed)
	}
	return err
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

// testAll tests what the environment names, as far as it can be read. The notices are
// about what is right and could be better.
func testAll(ctx context.Context, env environment) (results []selfcheck.Result, notices []string) {
	cfg, err := readConfig(ctx, env)
	results = []selfcheck.Result{result("configuration", selfcheck.Configuration, "", err)}
	if err != nil {
		return results, []string{}
	}
	deployment, detail, err := testDeployment(cfg)
	results = append(results, result("deployment", selfcheck.Deployment, detail, err))
	err = testPlan(cfg.Gateway.LifecycleFile)
	results = append(results, result("retirement plan", selfcheck.Plan, "", err))
	detail, err = testClients(cfg.Caller.ClientsFile)
	results = append(results, result("known clients", selfcheck.Clients, detail, err))
	results = append(results, testChains(ctx, cfg, deployment)...)
	results = append(results, testIssuer(ctx, cfg.IssuerFees, deployment)...)
	err = testRedis(ctx, cfg.Limit)
	results = append(results, result("Redis", selfcheck.Redis, "", err))
	detail, err = testDatabase(ctx, cfg.Usage)
	results = append(results, result("usage database", selfcheck.Database, detail, err))
	return results, endpointWarnings(cfg)
}

// endpointWarnings tells of the chains whose endpoints cannot confirm each other.
func endpointWarnings(cfg *config) []string {
	endpoints, err := cfg.endpoints()
	if err != nil {
		return []string{} // a test has failed
	}
	var alone []string
	for _, n := range chain.Networks() {
		if len(endpoints[n.ID]) == 1 {
			alone = append(alone, n.ID.String())
		}
	}
	warnings := append([]string{}, endpoints.Warnings()...)
	if len(alone) == 0 {
		return warnings
	}
	return append(warnings, "there is only one endpoint for chain "+strings.Join(alone, ", ")+
		", so that its word alone makes an answer final; name a second one, of another provider")
}

// notTested is why there was nothing to test.
type notTested string

func (e notTested) Error() string { return string(e) }

// result is that of a test which passes unless there is an error. The lines of an
// error that lists several problems are joined.
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

func testDeployment(cfg *config) (d *chain.Deployment, detail string, err error) {
	if d, err = cfg.deployment(); err != nil {
		return nil, "", err
	}
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
	pairs := d.Pairs()
	untimed := 0
	for _, p := range pairs {
		if d.Seconds(&p) == 0 {
			untimed++
		}
	}
	if untimed > 0 {
		notes = append(notes, fmt.Sprintf("seconds is not stated for %d of %d pairs, "+
			"so that clients cannot tell how long these take; measure it from status", untimed, len(pairs)))
	}
	return d, strings.Join(notes, "; "), nil
}

func testPlan(file string) error {
	if file == "" {
		return notTested("LIFECYCLE_FILE is not set")
	}
	_, err := lifecycle.Read(file, servedVersions())
	return err
}

// testClients says how many clients there are.
func testClients(file string) (count string, err error) {
	if file == "" {
		return "", notTested("CLIENTS_FILE is not set")
	}
	clients, err := caller.NewClients(file, quiet)
	if err != nil {
		return "", err
	}
	return strconv.Itoa(len(clients.All())), nil
}

// testChains tests only the endpoints if the deployment is nil.
func testChains(ctx context.Context, cfg *config, d *chain.Deployment) []selfcheck.Result {
	var chains *rpc.Client
	endpoints, err := cfg.endpoints()
	if err == nil {
		chains, err = rpc.New(endpoints, rpc.Options{})
	}
	if err != nil {
		return []selfcheck.Result{result("RPC endpoints", selfcheck.Endpoint, "", err)}
	}
	defer chains.Close()
	ctx, cancel := context.WithTimeout(ctx, chainsTimeout)
	defer cancel()
	return selfcheck.OnChain(ctx, d, chains, quiet)
}

// testIssuer asks the issuer's fee service for the fee of every source.
func testIssuer(ctx context.Context, cfg cctp.Config, d *chain.Deployment) (results []selfcheck.Result) {
	var fees *cctp.Fees
	var err error
	switch {
	case cfg.FeeURL == "":
		err = notTested("ISSUER_FEE_URL is not set")
	case d == nil:
		err = notTested("the deployment, which names the settlement chain, cannot be read")
	default:
		fees, err = cctp.New(cfg, d.Settlement, quiet, nil)
	}
	if err != nil {
		return []selfcheck.Result{result("issuer's fees", selfcheck.IssuerFee, "", err)}
	}
	defer fees.Close()
	fees.Warm(ctx)
	for _, s := range fees.State() {
		if s.Err == nil && s.Origin != cctp.Live {
			s.Err = errors.New("timed out")
		}
		name := fmt.Sprintf("chain %s, issuer's fee", s.Source)
		r := result(name, selfcheck.IssuerFee, s.Rate.String()+" basis points", s.Err)
		r.Chain = s.Source
		results = append(results, r)
	}
	return results
}

// testRedis has Redis count a request, as the service does at its start.
func testRedis(ctx context.Context, cfg limit.Config) error {
	switch {
	case cfg.RedisURL == "":
		return notTested("REDIS_URL is not set")
	case cfg.PerMinute == 0:
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

// testDatabase says what the service will do with the database.
func testDatabase(ctx context.Context, cfg store.Config) (will string, err error) {
	if cfg.DB == "" {
		return "", notTested("USAGE_DB is not set")
	}
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
	defer cancel()
	return store.Check(ctx, cfg)
}

// writeTable writes one line for each result, one that adds them up, and the notices.
func writeTable(out io.Writer, results []selfcheck.Result, sum string, notices []string) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, r := range results {
		fmt.Fprintf(table, "%s\t%s\t%s\n", r.Outcome, r.Name, r.Detail)
	}
	fmt.Fprintf(table, "\n%s\n", sum)
	for _, notice := range notices {
		fmt.Fprintf(table, "notice: %s\n", notice)
	}
	return table.Flush()
}
