package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"

	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/usage"
)

const simulateUsage = "usage: gateway plan simulate FILE [-json]"

// simulatePlan predicts whom a plan would refuse, from the calls in USAGE_DB.
func simulatePlan(ctx context.Context, in invocation) error {
	flags := flag.NewFlagSet("gateway plan simulate", flag.ContinueOnError)
	asJSON := flags.Bool("json", false, "print JSON")
	file, err := lifecycle.ParseFlags(flags, in.args, simulateUsage)
	if errors.Is(err, flag.ErrHelp) {
		_, err := fmt.Fprintln(in.stdout, simulateUsage)
		return err
	}
	if err != nil {
		return usageError(err.Error())
	}
	cfg, err := readConfig(ctx, in.env)
	if err != nil {
		return err
	}
	versions := servedVersions()
	plan, err := lifecycle.Read(file, versions)
	if err != nil {
		return err
	}
	reader, err := usage.Open(ctx, cfg.Usage, usage.Options{Versions: versions, Current: versions[0]})
	if err != nil {
		return err
	}
	defer reader.Close()
	simulation, err := reader.Simulate(ctx, plan)
	if err != nil {
		return fmt.Errorf("USAGE_DB: %w", err)
	}
	if *asJSON {
		encoder := json.NewEncoder(in.stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(simulation)
	}
	return simulation.Print(in.stdout)
}
