package integrator

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sethvargo/go-envconfig"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/rpc"
)

func load(t *testing.T, environment map[string]string) Config {
	t.Helper()
	var cfg Config
	err := envconfig.ProcessWith(context.Background(), &envconfig.Config{Target: &cfg, Lookuper: envconfig.MapLookuper(environment)})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestConfigDefaults(t *testing.T) {
	if got, want := load(t, nil), (Config{4096, 30 * time.Second}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestConfigFromEnvironment(t *testing.T) {
	got := load(t, map[string]string{"INTEGRATOR_CACHE_SIZE": "7", "INTEGRATOR_CACHE_TTL": "2m"})
	if want := (Config{7, 2 * time.Minute}); got != want || got.Validate() != nil {
		t.Errorf("got %+v, %v, want %+v", got, got.Validate(), want)
	}
}

func TestConfigProblems(t *testing.T) {
	for _, test := range []struct {
		cfg  Config
		want []string
	}{
		{Config{0, -time.Second}, []string{
			"INTEGRATOR_CACHE_SIZE: 0 is not between 1 and 1048576",
			"INTEGRATOR_CACHE_TTL: -1s is not more than 0s and at most 1h",
		}},
		{Config{1<<20 + 1, time.Hour + 1}, []string{
			"INTEGRATOR_CACHE_SIZE: 1048577 is not between 1 and 1048576",
			"INTEGRATOR_CACHE_TTL: 1h0m0.000000001s is not more than 0s and at most 1h",
		}},
	} {
		err := test.cfg.Validate()
		if err == nil {
			t.Fatalf("%+v: no problem found", test.cfg)
		}
		if got := strings.Split(err.Error(), "\n"); !slices.Equal(got, test.want) {
			t.Errorf("%+v: got\n%s\nwant\n%s", test.cfg, err, strings.Join(test.want, "\n"))
		}
		if _, err := New(test.cfg, deployment, nil, Options{}); err == nil {
			t.Error("New takes a configuration that is not valid")
		}
	}
}

// Health lists the chains with a registry, whichever chains have endpoints.
func TestHealthListsRegistries(t *testing.T) {
	chains := rpc.Config{1: {"http://127.0.0.1:1"}, 10: {"http://127.0.0.1:1"}}
	g := newRigWith(t, config, chains, patient)
	var want []Health
	for _, id := range chain.PoolChains {
		h := Health{Network: id, State: rpc.NoEndpoint}
		if id == 1 {
			h.State, h.Endpoints = rpc.Unused, 1
		}
		want = append(want, h)
	}
	if got := g.Health(); !slices.Equal(got, want) {
		t.Errorf("health %+v, want %+v", got, want)
	}
}
