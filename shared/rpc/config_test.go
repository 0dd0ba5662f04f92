package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/testdata/node"
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
	for i, n := range chain.Networks() {
		if got, want := c.Health()[i], (Health{Network: n.ID, State: Unused, Endpoints: 2}); got != want {
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
		"RPC_URLS_8453: entry 3 repeats entry 1",
	}
	if got := strings.Split(err.Error(), "\n"); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", err, strings.Join(want, "\n"))
	}
	if _, err := New(cfg, Options{}); err == nil {
		t.Error("New takes a configuration that is not valid")
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
