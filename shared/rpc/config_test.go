package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/testkit/node"
)

func TestReadConfig(t *testing.T) {
	environment := map[string]string{"RPC_URLS_69696969": "https://no.chain", "RPC_URLS_2": "https://no.chain"}
	const format = "https://a.example/%[1]s, http://user:key@b.example:8545/%[1]s?key=x"
	for _, n := range chain.Networks() {
		environment["RPC_URLS_"+n.ID.String()] = fmt.Sprintf(format, n.ID)
	}
	environment["RPC_URLS_10"] = ""
	cfg := ReadConfig(func(key string) (string, bool) {
		value, ok := environment[key]
		return value, ok
	})
	c, err := New(cfg, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if len(cfg) != len(chain.Networks())-1 {
		t.Errorf("there are endpoints for %d chains, want all but one", len(cfg))
	}
	for id, urls := range cfg {
		if got := string(urls[0] + ", " + urls[1]); len(urls) != 2 || got != fmt.Sprintf(format, id) {
			t.Errorf("chain %s has %d URLs that are not its own", id, len(urls))
		}
		if got := c.Health(id, ordinary...); got != (Health{Network: id, State: Unused, Endpoints: 2}) {
			t.Errorf("health %+v", got)
		}
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

// TestSameEndpoint: one node under two names is detected, as it would confirm itself.
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
			const says = "chain 1: endpoints 1 and 2 are on one host"
			if strings.Contains(warnings[0], "example") || !strings.Contains(warnings[0], says) {
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
	text := out.String()
	hexed := fmt.Sprintf("%x", secret)
	if strings.Contains(text, secret) || strings.Contains(text, hexed) || strings.Count(text, hidden) < 20 {
		t.Errorf("printed %s", text)
	}
}

func TestConfigFile(t *testing.T) {
	env := Config{1: {"https://one.example"}}
	got, err := env.with([]byte(`{"endpoints": {"137": ["https://a.example/S3CRET", "https://b.example"]}}`))
	want := Config{1: {"https://one.example"}, 137: {"https://a.example/S3CRET", "https://b.example"}}
	if err != nil || !got.Equal(want) || got.Equal(env) || len(env) != 1 {
		t.Errorf("got %d chains (%v), want 1 and 137, and the first ones as they were", len(got), err)
	}
	const url = "https://S3CRET.example"
	for text, says := range map[string]string{
		`{"endpoints": {"1": ["` + url + `"]}}`:                    `endpoints["1"]: RPC_URLS_1 has endpoints of this chain too`,
		`{"endpoints": {"2": ["` + url + `"]}}`:                    `endpoints["2"]: not a supported chain`,
		`{"endpoints": {"69696969": ["` + url + `"]}}`:             `endpoints["69696969"]: not a supported chain`,
		`{"endpoints": {"10": ["ftp://S3CRET.example"]}}`:          `endpoints["10"]: entry 1 does not begin with http`,
		`{"endpoints": {"10": "` + url + `"}}`:                     "endpoints",
		`{"endpoint": {}}`:                                         "endpoint: unknown field",
		`{"endpoints": {"10": ["` + url + `", "S3CRET"]}, "x": 1}`: "x: unknown field",
		`S3CRET`: "not valid JSON",
	} {
		_, err := env.with([]byte(text))
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "S3CRET.example") {
			t.Errorf("%s: got %v, want %q", text, err, says)
		}
	}
	if _, err := env.With(filepath.Join(t.TempDir(), "gone")); err == nil {
		t.Error("a missing file was accepted")
	}
}
