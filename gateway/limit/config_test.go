package limit

import (
	"strings"
	"testing"

	"github.com/sethvargo/go-envconfig"
)

// The default makes the keys that gateways of before the variable use.
func TestEnvironment(t *testing.T) {
	for name, tt := range map[string]struct {
		env  map[string]string
		want Config
	}{
		"nothing":      {nil, Config{PerMinute: 30, RedisPrefix: "quotegate:"}},
		"a prefix":     {map[string]string{"REDIS_PREFIX": "staging:"}, Config{PerMinute: 30, RedisPrefix: "staging:"}},
		"empty prefix": {map[string]string{"REDIS_PREFIX": ""}, Config{PerMinute: 30}},
	} {
		var got Config
		if err := envconfig.ProcessWith(t.Context(), &envconfig.Config{Target: &got, Lookuper: envconfig.MapLookuper(tt.env)}); err != nil || got != tt.want {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, tt.want)
		}
	}
}

func TestValidateAccepts(t *testing.T) {
	for name, cfg := range map[string]Config{
		"zero value":      {},
		"default":         {PerMinute: 30},
		"highest":         {PerMinute: maxPerMinute},
		"redis":           {PerMinute: 30, RedisURL: "redis://localhost:6379/0"},
		"redis with TLS":  {PerMinute: 30, RedisURL: "rediss://user:p%40ss@redis.example:6380/2?pool_size=5"},
		"redis on a unix": {PerMinute: 30, RedisURL: "unix:///run/redis.sock?db=1"},
		"a prefix":        {RedisPrefix: "staging/quotegate:"},
		"longest prefix":  {RedisPrefix: strings.Repeat("~", maxPrefix)},
	} {
		t.Run(name, func(t *testing.T) {
			if err := cfg.Validate(); err != nil {
				t.Errorf("got %v, want no problem", err)
			}
		})
	}
}

func TestValidateReportsEveryProblem(t *testing.T) {
	err := Config{PerMinute: -1, RedisURL: "http://localhost", RedisPrefix: "my gateway"}.Validate()
	if err == nil {
		t.Fatal("got no problem, want three")
	}
	lines := strings.Split(err.Error(), "\n")
	want := []string{"RATE_LIMIT: -1", "REDIS_URL:", `REDIS_PREFIX: "my gateway"`}
	if len(lines) != len(want) {
		t.Fatalf("got %d problems, want %d:\n%v", len(lines), len(want), err)
	}
	for i := range want {
		if !strings.HasPrefix(lines[i], want[i]) {
			t.Errorf("got %q, want it to start with %q", lines[i], want[i])
		}
	}
}

func TestValidateRefuses(t *testing.T) {
	for name, cfg := range map[string]Config{
		"too high a limit":         {PerMinute: maxPerMinute + 1},
		"redis without scheme":     {RedisURL: "localhost:6379"},
		"redis port":               {RedisURL: "redis://localhost:70000"},
		"redis database":           {RedisURL: "redis://localhost/-1"},
		"redis database by name":   {RedisURL: "redis://localhost/main"},
		"unknown redis option":     {RedisURL: "redis://localhost?colour=blue"},
		"unix socket without path": {RedisURL: "unix://"},
		"a prefix too long":        {RedisPrefix: strings.Repeat("x", maxPrefix+1)},
		"a prefix with a space":    {RedisPrefix: "a b"},
		"a prefix with a newline":  {RedisPrefix: "a\n"},
		"a prefix beyond ASCII":    {RedisPrefix: "prüfung:"},
		"a prefix that is no text": {RedisPrefix: "\xff"},
	} {
		t.Run(name, func(t *testing.T) {
			if cfg.Validate() == nil {
				t.Error("got no problem, want one")
			}
			if _, err := New(t.Context(), cfg, quiet, newClock().now); err == nil {
				t.Error("New took it")
			}
		})
	}
}

func TestValidateKeepsThePassword(t *testing.T) {
	for _, url := range []string{
		"redis://user:hunter2@host:port",
		"redis://user:hunter2/x@host",
		"redis://user:12/hunter2@host",
		"redis://user:%hunter2@host",
		"redis://user:hunter2@ho st",
		"redis://user@host?password=hunter2",
		"hunter2://host",
		"hunter2",
	} {
		err := Config{RedisURL: url}.Validate()
		if err == nil {
			t.Errorf("%s: got no problem, want one", url)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the message leaks the password: %v", url, err)
		}
	}
}
