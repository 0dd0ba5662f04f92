package child

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestGateway(t *testing.T) {
	path, err := Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"LISTEN_ADDR=127.0.0.1:0", "ADMIN_ADDR=127.0.0.1:0"}

	t.Run("serves and stops", func(t *testing.T) {
		g, err := Start(t.Context(), path, env, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.Get(g.URL + "/v3/swap/healthcheck")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Errorf("got %d of a gateway that serves", res.StatusCode)
		}
		if err := g.Stop(); err != nil {
			t.Error(err)
		}
		if err := g.Stop(); err != nil {
			t.Errorf("stopping it again: %v", err)
		}
	})
	t.Run("does not start", func(t *testing.T) {
		_, err := Start(t.Context(), path, []string{"LISTEN_ADDR=8080"}, io.Discard)
		if err == nil || !strings.Contains(err.Error(), "LISTEN_ADDR") {
			t.Errorf("got %v, want what it said of LISTEN_ADDR", err)
		}
	})
	t.Run("dies", func(t *testing.T) {
		g, err := Start(t.Context(), path, env, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-g.Done()
		if err := g.Err(); err == nil || !strings.Contains(err.Error(), "serving") {
			t.Errorf("got %v, want how it ended and the last it said", err)
		}
		if g.Stop() == nil {
			t.Error("stopping it is said to be clean")
		}
	})
}

func TestBuildFails(t *testing.T) {
	t.Chdir(t.TempDir()) // not within the module
	if _, err := Build(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "building the gateway") {
		t.Errorf("got %v", err)
	}
}

func TestServingAt(t *testing.T) {
	for line, want := range map[string]string{
		`{"level":"INFO","msg":"serving","addr":"127.0.0.1:1"}`: "127.0.0.1:1",
		`{"msg":"serving admin","addr":"127.0.0.1:2"}`:          "",
		`{"msg":"serving"}`: "",
		`gateway: no`:       "",
		``:                  "",
	} {
		if got, ok := servingAt(line); got != want && ok || ok != (want != "") {
			t.Errorf("%s: got %q and %v, want %q", line, got, ok, want)
		}
	}
}
