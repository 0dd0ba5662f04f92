package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/gateway/selfcheck"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/safego"
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
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
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

// test is a part of `gateway check`. The parts run at the same time.
type test func() []selfcheck.Result

// testOf is one test of what a variable names, if that is set.
func testOf(name string, what selfcheck.What, variable, value string, do func() (string, error)) test {
	return func() []selfcheck.Result {
		if value == "" {
			return []selfcheck.Result{result(name, what, "", notTested(variable+" is not set"))}
		}
		detail, err := do()
		return []selfcheck.Result{result(name, what, detail, err)}
	}
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
	tests := []test{
		testOf("retirement plan", selfcheck.Plan, "LIFECYCLE_FILE", cfg.Gateway.LifecycleFile, func() (string, error) {
			_, err := lifecycle.Read(cfg.Gateway.LifecycleFile, servedVersions())
			return "", err
		}),
		testOf("known clients", selfcheck.Clients, "CLIENTS_FILE", cfg.Caller.ClientsFile, func() (string, error) {
			clients, err := caller.NewClients(cfg.Caller.ClientsFile, quiet)
			if err != nil {
				return "", err
			}
			return strconv.Itoa(len(clients.All())), nil
		}),
		func() []selfcheck.Result { return testChains(ctx, cfg, deployment) },
		func() []selfcheck.Result { return testIssuer(ctx, cfg.IssuerFees, deployment) },
		testOf("Redis", selfcheck.Redis, "REDIS_URL", cfg.Limit.RedisURL, func() (string, error) {
			return "", testRedis(ctx, cfg.Limit)
		}),
		testOf("usage database", selfcheck.Database, "USAGE_DB", cfg.Usage.DB, func() (string, error) {
			return testDatabase(ctx, cfg.Usage)
		}),
	}
	parts := make([][]selfcheck.Result, len(tests))
	var running safego.Group
	for i, test := range tests {
		// Until it is done.
		parts[i] = []selfcheck.Result{result("a test", selfcheck.Configuration, "", errBug)}
		running.Go(nil, "a test of gateway check", func() { parts[i] = test() })
	}
	running.Wait()
	return append(results, slices.Concat(parts...)...), endpointWarnings(cfg)
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

var errBug = errors.New("internal error in this test; see the log")

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

// testDatabase says what the service will do with the database.
func testDatabase(ctx context.Context, cfg store.Config) (will string, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	return store.Check(ctx, cfg)
}

// writeTable writes one line for each result, one that adds them up, and the notices.
func writeTable(out io.Writer, results []selfcheck.Result, sum string, notices []string) error {
	width := 0
	for _, r := range results {
		width = max(width, len(r.Name))
	}
	var text strings.Builder
	for _, r := range results {
		line := fmt.Sprintf("%-10s  %-*s  %s", r.Outcome, width, r.Name, r.Detail)
		text.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	text.WriteString("\n" + sum + "\n")
	for _, notice := range notices {
		text.WriteString("notice: " + notice + "\n")
	}
	_, err := io.WriteString(out, text.String())
	return err
}
