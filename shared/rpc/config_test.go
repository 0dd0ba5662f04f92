package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/testkit/node"
)

func TestReadConfig(t *testing.T) {
	environment := map[string]string{"RPC_URLS_69696969": "https://no.chain", "RPC_URLS_2": "https://no.chain"}
	for _, n := range chain.Networks() {
		environment["RPC_URLS_"+n.ID.String()] = fmt.Sprintf("https://a.example/%s, http://user:key@b.example:8545/%s?key=x", n.ID, n.ID)
	}
	lookup := func(key string) (string, bool) { v, ok := environment[key]; return v, ok }
	cfg := ReadConfig(lookup)
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	if len(cfg) != 21 {
		t.Errorf("there are endpoints for %d chains, want 21", len(cfg))
	}
	for id, got := range cfg {
		want := []SecretURL{SecretURL("https://a.example/" + id.String()), SecretURL(fmt.Sprintf("http://user:key@b.example:8545/%s?key=x", id))}
		if !slices.Equal(got, want) {
			t.Errorf("chain %s has %d URLs that are not its own", id, len(got))
		}
	}
	c, err := New(cfg, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, n := range chain.Networks() {
		if got, want := c.Health(n.ID, ordinary...), (Health{Network: n.ID, State: Unused, Endpoints: 2}); got != want {
			t.Errorf("health %+v, want %+v", got, want)
		}
	}

	environment = map[string]string{"RPC_URLS_1": ""}
	if cfg := ReadConfig(lookup); len(cfg) != 0 {
		t.Errorf("got endpoints of %d chains from an empty environment", len(cfg))
	}
}

func TestConfigProblems(t *testing.T) {
	const secret = node.Secret
	cfg := Config{
		1:    {"https://ok.example", "", "ftp://" + secret, "ws://" + secret, secret},
		10:   {"https://ok.example"},
		369:  {"https://" + secret + "/%zz", "https:///" + secret, "http://:80/" + secret},
		8453: {"https://" + secret, "https://ok.example", "https://" + secret},
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
		"RPC_URLS_8453: entry 3 is the same endpoint as entry 1; remove it, as no node can confirm itself",
	}
	if got := strings.Split(err.Error(), "\n"); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", err, strings.Join(want, "\n"))
	}
	if _, err := New(cfg, Options{}); err == nil {
		t.Error("New takes a configuration that is not valid")
	}
}

// TestSameEndpoint wants one node under two names to be found: it would confirm itself.
func TestSameEndpoint(t *testing.T) {
	const first = "https://node.example/key"
	for second, want := range map[string]string{
		"https://node.example/key/":            "same",
		"HTTPS://node.example/key":             "same",
		"https://NODE.example./key":            "same",
		"https://node.example:443/key":         "same",
		"https://user:word@node.example/key":   "same",
		"https://node.example/key?a=b":         "same",
		"https://node.example/key#a":           "same",
		"https://node.example//key":            "same",
		"https://node.example/%6bey":           "same",
		"https://node.example/other":           "warning",
		"https://node.example/KEY":             "warning",
		"http://node.example/key":              "warning",
		"https://node.example:8443/key":        "",
		"https://other.example/key":            "",
		"https://node.example.example.org/key": "",
	} {
		cfg := Config{1: {first, SecretURL(second)}}
		got := ""
		if cfg.Validate() != nil {
			got = "same"
		} else if warnings := cfg.Warnings(); len(warnings) > 0 {
			got = "warning"
			if strings.Contains(warnings[0], "example") || !strings.Contains(warnings[0], "chain 1: endpoints 1 and 2 are on one host") {
				t.Errorf("got the warning %q", warnings[0])
			}
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", second, got, want)
		}
	}
}

func TestConfigHidesURLs(t *testing.T) {
	const secret = node.Secret
	cfg := Config{1: {"https://user:" + secret + "@host/" + secret}}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&out, verb+verb+verb, cfg, &cfg, cfg[1][0])
	}
	slog.New(slog.NewJSONHandler(&out, nil)).Info("config", "config", cfg, "url", cfg[1][0])
	slog.New(slog.NewTextHandler(&out, nil)).Info("config", "config", cfg, "url", cfg[1][0])
	if err := json.NewEncoder(&out).Encode(cfg); err != nil {
		t.Fatal(err)
	}
	hexed := fmt.Sprintf("%x", secret)
	if text := out.String(); strings.Contains(text, secret) || strings.Contains(text, hexed) || strings.Count(text, hidden) < 20 {
		t.Errorf("printed %s", text)
	}
}

func TestConfigFile(t *testing.T) {
	env := Config{1: {"https://one.example"}}
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "endpoints.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	got, err := env.With(write(`{"endpoints": {"137": ["https://a.example/S3CRET", "https://b.example"]}}`))
	want := Config{1: {"https://one.example"}, 137: {"https://a.example/S3CRET", "https://b.example"}}
	if err != nil || !got.Equal(want) || got.Equal(env) || len(env) != 1 {
		t.Errorf("got %d chains (%v), want 1 and 137, and the first ones as they were", len(got), err)
	}
	for text, says := range map[string]string{
		`{"endpoints": {"1": ["https://S3CRET.example"]}}`:        `endpoints["1"]: RPC_URLS_1 has endpoints of this chain too`,
		`{"endpoints": {"2": ["https://S3CRET.example"]}}`:        `endpoints["2"]: not a supported chain`,
		`{"endpoints": {"69696969": ["https://S3CRET.example"]}}`: `endpoints["69696969"]: not a supported chain`,
		`{"endpoints": {"10": ["ftp://S3CRET.example"]}}`:         `endpoints["10"]: entry 1 does not begin with http`,
		`{"endpoints": {"10": "https://S3CRET.example"}}`:         "endpoints",
		`{"endpoint": {}}`: "endpoint: unknown field",
		`{"endpoints": {"10": ["https://S3CRET.example", "S3CRET"]}, "x": 1}`: "x: unknown field",
		`S3CRET`: "not valid JSON",
	} {
		if _, err := env.With(write(text)); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "S3CRET.example") {
			t.Errorf("%s: got %v, want %q", text, err, says)
		}
	}
	if _, err := env.With(write("") + ".gone"); err == nil {
		t.Error("a missing file was accepted")
	}
}
