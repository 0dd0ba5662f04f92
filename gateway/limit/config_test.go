package limit

import (
	"slices"
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
		"sentinel":        {PerMinute: 30, RedisURL: "redis+sentinel://a,b:26380,[::1]:26379/main"},
		"sentinel in all": {PerMinute: 30, RedisURL: "rediss+sentinel://user:p%40ss@a.example/main/2?pool_size=5&sentinel_username=x&sentinel_password=y%26"},
		"cluster":         {PerMinute: 30, RedisURL: "redis+cluster://a:6379,b,[::1]:6380"},
		"cluster in all":  {PerMinute: 30, RedisURL: "rediss+cluster://user:p%40ss@a.example/?pool_size=5"},
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
		"too high a limit":         {PerMinute: MaxPerMinute + 1},
		"redis without scheme":     {RedisURL: "localhost:6379"},
		"redis port":               {RedisURL: "redis://localhost:70000"},
		"redis database":           {RedisURL: "redis://localhost/-1"},
		"redis database by name":   {RedisURL: "redis://localhost/main"},
		"unknown redis option":     {RedisURL: "redis://localhost?colour=blue"},
		"unix socket without path": {RedisURL: "unix://"},
		"several hosts":            {RedisURL: "redis://a:6379,b:6379"},
		"unknown kind":             {RedisURL: "redis+ring://a:6379"},
		"no kind":                  {RedisURL: "redis+://a:6379"},
		"sentinel without master":  {RedisURL: "redis+sentinel://a:26379"},
		"sentinel with an option":  {RedisURL: "redis+sentinel://a:26379?master_name=main"},
		"sentinel database":        {RedisURL: "redis+sentinel://a/main/x"},
		"negative database":        {RedisURL: "redis+sentinel://a/main/-1"},
		"sentinel and more":        {RedisURL: "redis+sentinel://a/main/0/1"},
		"sentinel port":            {RedisURL: "redis+sentinel://a:0/main"},
		"sentinel on a socket":     {RedisURL: "unix+sentinel://a/main"},
		"cluster without hosts":    {RedisURL: "redis+cluster://"},
		"cluster with a gap":       {RedisURL: "redis+cluster://a,,b"},
		"cluster port":             {RedisURL: "redis+cluster://a:6379,b:70000"},
		"cluster with a database":  {RedisURL: "redis+cluster://a/1"},
		"cluster with db":          {RedisURL: "redis+cluster://a?db=1"},
		"cluster with an option":   {RedisURL: "redis+cluster://a?addr=b:6379"},
		"cluster with a path":      {RedisURL: "redis+cluster://a/b"},
		"cluster by mistake":       {RedisURL: "redis+cluster://a:6379,redis://b:6379"},
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
		"redis+hunter2://host",
		"redis+cluster://user:hunter2@a,b:port",
		"redis+cluster://user:hun/ter2hunter2@a",
		"redis+cluster://user:%hunter2@a",
		"redis+sentinel://user:hunter2@a",
		"redis+sentinel://a?sentinel_password=hunter2",
		"redis+sentinel://a/hunter2/hunter2",
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

// A wrong URL is answered with what would be right.
func TestValidateSaysWhatWouldBeRight(t *testing.T) {
	for url, want := range map[string]string{
		"redis://a:6379,b:6379":                     "redis+cluster://user:password@host:6379,host:6379 for a Cluster",
		"redis://a:26379?master_name=main":          "redis+sentinel://user:password@host:26379,host:26379/name-of-the-master/0 for Sentinel",
		"redis+sentinel://a:26379?master_name=main": "/name-of-the-master/0",
		"redis+cluster://a/1":                       "no database",
	} {
		if err := (Config{RedisURL: url}).Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q in it", url, err, want)
		}
	}
}

func TestRedisTargets(t *testing.T) {
	got, err := parseRedisURL("rediss+sentinel://user:p%40ss@a.example,b:26380,[::1]/main/2?pool_size=5&sentinel_username=x&sentinel_password=y%26")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a.example:26379", "b:26380", "[::1]:26379"}; !slices.Equal(got.sentinels, want) {
		t.Errorf("got Sentinels %q, want %q", got.sentinels, want)
	}
	if got.master != "main" || got.cluster != nil || got.sentinel.Username != "x" || got.sentinel.Password != "y&" {
		t.Errorf("got %+v", got)
	}
	if o := got.server; o.Username != "user" || o.Password != "p@ss" || o.DB != 2 || o.PoolSize != 5 || o.TLSConfig == nil {
		t.Errorf("got %+v", o)
	}
	if want := []string{"p@ss", "y&"}; !slices.Equal(got.secrets(), want) {
		t.Errorf("got secrets %q, want %q", got.secrets(), want)
	}
	got, err = parseRedisURL("redis+cluster://:secret@a,b:6380?max_idle_conns=2")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a:6379", "b:6380"}; !slices.Equal(got.cluster, want) {
		t.Errorf("got nodes %q, want %q", got.cluster, want)
	}
	if o := got.server; got.sentinels != nil || o.Password != "secret" || o.MaxIdleConns != 2 || o.TLSConfig != nil {
		t.Errorf("got %+v", o)
	}
}
