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
		"highest":         {PerMinute: MaxPerMinute},
		"redis":           {PerMinute: 30, RedisURL: "redis://localhost:6379/0"},
		"redis with TLS":  {PerMinute: 30, RedisURL: "rediss://user:p%40ss@redis.example:6380/2?pool_size=5"},
		"redis on a unix": {PerMinute: 30, RedisURL: "unix:///run/redis.sock?db=1"},
		"sentinel":        {PerMinute: 30, RedisURL: "redis://a:26379?master_name=main&addr=b:26380&addr=[::1]:26379"},
		"sentinel in all": {PerMinute: 30, RedisURL: "rediss://x:y%26@a.example:26379/2?master_name=main&username=user&password=p%40ss&pool_size=5"},
		"cluster":         {PerMinute: 30, RedisURL: "redis://a:6379?addr=b:6379&addr=[::1]:6380"},
		"cluster in all":  {PerMinute: 30, RedisURL: "rediss://user:p%40ss@a.example/?addr=b:6379&pool_size=5"},
		"a prefix":        {RedisPrefix: "staging/quotegate:"},
		"longest prefix":  {RedisPrefix: strings.Repeat("~", 64)},
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
	want := []string{"RATE_LIMIT: -1", `REDIS_PREFIX: "my gateway"`, "REDIS_URL:"}
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
		"too high a limit":         {PerMinute: MaxPerMinute + 1},
		"redis without scheme":     {RedisURL: "localhost:6379"},
		"redis port":               {RedisURL: "redis://localhost:70000"},
		"redis database":           {RedisURL: "redis://localhost/-1"},
		"redis database by name":   {RedisURL: "redis://localhost/main"},
		"unknown redis option":     {RedisURL: "redis://localhost?colour=blue"},
		"unix socket without path": {RedisURL: "unix://"},
		"several hosts":            {RedisURL: "redis://a:6379,b:6379"},
		"an earlier form":          {RedisURL: "redis+sentinel://a:26379/main"},
		"an earlier form, cluster": {RedisURL: "redis+cluster://a:6379,b:6379"},
		"sentinel without master":  {RedisURL: "redis://a:26379?master_name="},
		"sentinel database":        {RedisURL: "redis://a:26379/x?master_name=main"},
		"negative database":        {RedisURL: "redis://a:26379/-1?master_name=main"},
		"sentinel port":            {RedisURL: "redis://a:0?master_name=main"},
		"another sentinel's port":  {RedisURL: "redis://a:26379?master_name=main&addr=b:70000"},
		"sentinel on a socket":     {RedisURL: "unix:///run/redis.sock?master_name=main"},
		"cluster with a gap":       {RedisURL: "redis://a?addr="},
		"cluster port":             {RedisURL: "redis://a:6379?addr=b:70000"},
		"cluster with a database":  {RedisURL: "redis://a/1?addr=b:6379"},
		"cluster with db":          {RedisURL: "redis://a?addr=b:6379&db=1"},
		"a prefix too long":        {RedisPrefix: strings.Repeat("x", 64+1)},
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
		"redis+sentinel://user:hunter2@a/main",
		"redis://user:hunter2@a?addr=b:port",
		"redis://user:%hunter2@a?addr=b:6379",
		"redis://user:hunter2@a/hunter2?master_name=main",
		"redis://a?master_name=main&password=hunter2&colour=hunter2",
		"redis://a?hunter2&addr=b:6379",
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
