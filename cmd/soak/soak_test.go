package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/quotegate/quotegate/cmd/internal/child"
)

// scratch is a folder for all tests.
var scratch string

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "soak-test-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "the tests leave something behind:", err)
		code = 1
	}
	os.RemoveAll(scratch)
	os.Exit(code)
}

// gatewayBinary builds the gateway once, with the race detector if the tests
// have it.
var gatewayBinary = sync.OnceValues(func() (string, error) {
	return buildGateway(context.Background(), scratch, raced())
})

func raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// setUp gives what every test of this package needs.
func setUp(t *testing.T) (root, binary string) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it builds a gateway and loads it for seconds; make test-all runs it")
	}
	root, err := child.Root()
	if err != nil {
		t.Fatal(err)
	}
	if binary, err = gatewayBinary(); err != nil {
		t.Fatal(err)
	}
	return root, binary
}

// startWorld starts everything, until the test ends.
func startWorld(t *testing.T) *world {
	t.Helper()
	root, binary := setUp(t)
	w, err := newWorld(t.Context(), root, binary, false)
	t.Cleanup(w.close)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestSoak is the short form of the command. Without a redis-server it tests the rest, except on CI.
func TestSoak(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("redis-server"); err != nil && os.Getenv("CI") != "" {
		t.Fatal("CI is set, and there is no redis-server: install the package redis-server")
	}
	if _, err := exec.LookPath("pg_config"); err != nil && os.Getenv("CI") != "" {
		if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres"); len(found) == 0 {
			t.Fatal("CI is set, and there is no PostgreSQL: install the package postgresql")
		}
	}
	root, binary := setUp(t)
	if err := soak(t.Context(), root, binary, 6*time.Second, raced(), t.Output()); err != nil {
		t.Error(err)
	}
}

// A version that is added or deleted needs no change here.
func TestSortVersions(t *testing.T) {
	for _, c := range []struct {
		names string
		want  versions
	}{
		{"v1 v3 v3legacy", versions{judged: []string{"v1", "v3", "v3legacy"}, retiring: "v1"}},
		{"v3 v3legacy", versions{judged: []string{"v3", "v3legacy"}, retiring: "v3legacy"}},
		{"v3", versions{judged: []string{"v3"}}},
		{"v1 v3 v4", versions{judged: []string{"v1", "v3"}, unjudged: []string{"v4"}, retiring: "v1"}},
		{"v3 v4", versions{judged: []string{"v3"}, unjudged: []string{"v4"}}},
	} {
		if got := sortVersions(strings.Fields(c.names)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, want %+v", c.names, got, c.want)
		}
	}
}
