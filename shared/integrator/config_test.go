package integrator

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sethvargo/go-envconfig"

	"github.com/quotegate/quotegate/shared/chain"
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
	cfg := load(t, nil)
	if cfg.CacheSize != 4096 || cfg.CacheTTL != 30*time.Second {
		t.Errorf("got size %d and TTL %v, want 4096 and 30s", cfg.CacheSize, cfg.CacheTTL)
	}
	r, err := New(cfg, deployment, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var want []Health
	for _, id := range chain.PoolChains {
		want = append(want, Health{Network: id, State: NoEndpoint})
	}
	if got := r.Health(); !slices.Equal(got, want) {
		t.Errorf("health %+v, want %+v", got, want)
	}
}

func TestConfigFromEnvironment(t *testing.T) {
	environment := map[string]string{"INTEGRATOR_CACHE_SIZE": "7", "INTEGRATOR_CACHE_TTL": "2m"}
	for _, id := range chain.PoolChains {
		environment["RPC_URLS_"+id.String()] = fmt.Sprintf("https://a.example/%s, http://user:key@b.example:8545/%s?key=x", id, id)
	}
	cfg := load(t, environment)
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	if cfg.CacheSize != 7 || cfg.CacheTTL != 2*time.Minute {
		t.Errorf("got size %d and TTL %v, want 7 and 2m", cfg.CacheSize, cfg.CacheTTL)
	}
	var networks []chain.ID
	for _, v := range cfg.variables() {
		networks = append(networks, v.network)
		want := []SecretURL{SecretURL("https://a.example/" + v.network.String()), SecretURL(fmt.Sprintf("http://user:key@b.example:8545/%s?key=x", v.network))}
		if v.name != "RPC_URLS_"+v.network.String() || !slices.Equal(v.urls, want) {
			t.Errorf("%s holds %d URLs that are not those of chain %s", v.name, len(v.urls), v.network)
		}
	}
	if !slices.Equal(networks, chain.PoolChains) {
		t.Errorf("there are variables for %v, want one for each of %v", networks, chain.PoolChains)
	}
}

func TestConfigProblems(t *testing.T) {
	cfg := Config{
		RPC1:      []SecretURL{"https://ok.example", "", "ftp://" + secret, "ws://" + secret, secret},
		RPC369:    []SecretURL{"https://" + secret + "/%zz", "https:///" + secret, "http://:80/" + secret},
		RPC8453:   []SecretURL{"https://" + secret, "https://ok.example", "https://" + secret},
		CacheSize: 0,
		CacheTTL:  -time.Second,
	}
	err := cfg.Validate()
	if err == nil {
		t.Fatal("no problem found")
	}
	want := []string{
		"RPC_URLS_1: entry 2 is empty",
		"RPC_URLS_1: entry 3 does not begin with http:// or https://",
		"RPC_URLS_1: entry 4 does not begin with http:// or https://",
		"RPC_URLS_1: entry 5 does not begin with http:// or https://",
		"RPC_URLS_369: entry 1 is not a URL",
		"RPC_URLS_369: entry 2 has no host",
		"RPC_URLS_369: entry 3 has no host",
		"RPC_URLS_8453: entry 3 repeats entry 1",
		"INTEGRATOR_CACHE_SIZE: 0 is not between 1 and 1048576",
		"INTEGRATOR_CACHE_TTL: -1s is not more than 0s and at most 1h0m0s",
	}
	if got := strings.Split(err.Error(), "\n"); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", err, strings.Join(want, "\n"))
	}
	if _, err := New(cfg, deployment, Options{}); err == nil {
		t.Error("New takes a configuration that is not valid")
	}

	cfg = Config{CacheSize: 1<<20 + 1, CacheTTL: time.Hour + 1}
	if got := strings.Count(fmt.Sprint(cfg.Validate()), "INTEGRATOR_CACHE_"); got != 2 {
		t.Errorf("%d problems in %v, want 2", got, cfg.Validate())
	}
}

func TestConfigHidesURLs(t *testing.T) {
	cfg := Config{RPC1: []SecretURL{"https://user:" + secret + "@host/" + secret}}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&out, verb+verb+verb, cfg, &cfg, cfg.RPC1[0])
	}
	slog.New(slog.NewJSONHandler(&out, nil)).Info("config", "config", cfg, "url", cfg.RPC1[0])
	slog.New(slog.NewTextHandler(&out, nil)).Info("config", "config", cfg, "url", cfg.RPC1[0])
	if err := json.NewEncoder(&out).Encode(cfg); err != nil {
		t.Fatal(err)
	}
	hexed := fmt.Sprintf("%x", secret)
	if text := out.String(); strings.Contains(text, secret) || strings.Contains(text, hexed) || strings.Count(text, hidden) < 20 {
		t.Errorf("printed %s", text)
	}
}
