package main

import (
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A service whose database has the schema of a later release is not ready but still answers, and
// is ready again once that is undone. It does not start with such a database.
func TestSchemaOfTheDatabase(t *testing.T) {
	env := environment{"USAGE_DB": filepath.Join(t.TempDir(), "usage.db")}
	cfg, err := readConfig(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newService(t.Context(), cfg, newLogs(cfg, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	admin := httptest.NewServer(s.admin)
	defer admin.Close()
	const later = "USAGE_DB: a later release has written to the database"
	for _, tt := range []struct {
		schema string
		status int
		says   string
	}{
		{"1", http.StatusOK, "ready"}, {"2", http.StatusServiceUnavailable, later}, {"1", http.StatusOK, "ready"},
	} {
		setSchema(t, env["USAGE_DB"], tt.schema)
		_ = s.recorder.Flush(t.Context()) // it has noted the error, if there is one
		w := httptest.NewRecorder()
		if s.ServeHTTP(w, httptest.NewRequest("GET", quotePath, nil)); w.Code != http.StatusOK {
			t.Errorf("a quote got %d %s", w.Code, w.Body)
		}
		if status, body := get(t, admin.URL+"/readyz"); status != tt.status || !strings.Contains(body, tt.says) {
			t.Errorf("schema %s: got %d %s", tt.schema, status, body)
		}
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
	setSchema(t, env["USAGE_DB"], "2")
	err = run(t.Context(), env, io.Discard, func(string, string) { t.Error("it started") })
	wantContains(t, fmt.Sprint(err), later)
}

func setSchema(t *testing.T, file, version string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("update quotegate_meta set value = ? where name = 'schema'", version); err != nil {
		t.Fatal(err)
	}
}

// loseCounts makes the service abandon its last counts early.
func loseCounts(t *testing.T) {
	t.Helper()
	before := countsTimeout
	countsTimeout = 100 * time.Millisecond
	t.Cleanup(func() { countsTimeout = before })
}

// An instance that starts while the database is down cannot know whether the gate has passed. It
// serves the version, and logs that.
func TestInstanceWithoutTheDatabase(t *testing.T) {
	loseCounts(t)
	version, quotes := oldest(t)
	sunset := time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)
	base, admin, stop := start(t, environment{
		"USAGE_DB":       "postgres://postgres@/postgres?host=" + t.TempDir(),
		"LIFECYCLE_FILE": tempFile(t, planOf(version, sunset, `, "gate": {"maxClients": 5, "days": 1, "instances": 2}`)),
	})
	defer stop()
	if got, body := get(t, base+quotes+quoteQuery); got != http.StatusOK {
		t.Fatalf("got %d %s", got, body)
	}
	_, body := get(t, base+healthPath)
	wantContains(t, body, "Version "+version+": its sunset has come, and this instance cannot read whether its gate")
	_, body = get(t, admin+"/metrics")
	wantContains(t, body, `quotegate_version_gate_unknown{version="`+version+`"} 1`)
}

// A start compares the plan with the one that the database has. What retired a version keeps
// it retired without a file, until its line brings it back. The start line has the stages that are
// not active; another line says only what has changed since the last start.
func TestPlanIsKept(t *testing.T) {
	version, quotes := oldest(t)
	env := environment{"USAGE_DB": filepath.Join(t.TempDir(), "usage.db")}
	const past = "2021-01-01T00:00:00Z"
	for _, tt := range []struct {
		plan    string // empty: no file
		refused bool
		status  int
		stage   string // in the start line; empty for none
		change  string // empty for no line
	}{
		{planOf(version, "2999-01-01T00:00:00Z", ""), false, http.StatusOK, "deprecated", ""},
		{planOf(version, past, ""), true, http.StatusOK, "deprecated", ""},
		{planOf(version, past, `, "immediate": true`), false, http.StatusGone, "retired", `"from":"deprecated","to":"retired"`},
		{"", false, http.StatusGone, "retired", ""},
		{`{"versions": {}}`, false, http.StatusGone, "retired", ""},
		{`{"versions": {"` + version + `": {"active": true}}}`, false, http.StatusOK, "", `"from":"retired","to":"active"`},
	} {
		delete(env, "LIFECYCLE_FILE")
		if tt.plan != "" {
			env["LIFECYCLE_FILE"] = tempFile(t, tt.plan)
		}
		var log bytes.Buffer
		base, admin, stop := startLogging(t, env, &log)
		if got, body := get(t, base+quotes+quoteQuery); got != tt.status {
			t.Errorf("%s: got %d %s, want %d", tt.plan, got, body, tt.status)
		}
		_, body := get(t, admin+"/metrics")
		refused := map[bool]string{true: "1", false: "0"}[tt.refused]
		wantContains(t, body, "quotegate_lifecycle_plan_refused "+refused)
		if err := stop(); err != nil {
			t.Error(err)
		}
		text := log.String()
		stages := `,"stages":{"` + version + `":"` + tt.stage + `"}}`
		if !strings.Contains(text, stages) && (tt.stage != "" || strings.Contains(text, `"stages"`)) {
			t.Errorf("%s: got %s, want %s in the start line", tt.plan, text, stages)
		}
		lines := map[bool]int{true: 1}[tt.change != ""]
		if strings.Count(text, `"msg":"version stage"`) != lines || !strings.Contains(text, tt.change) {
			t.Errorf("%s: got %s, want %d lines of %s", tt.plan, text, lines, tt.change)
		}
	}
}

// Counts that cannot be written at the end are an error, so that the exit code shows it.
func TestLostCounts(t *testing.T) {
	loseCounts(t)
	folder := filepath.Join(t.TempDir(), "counts")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	base, _, stop := start(t, environment{"USAGE_DB": filepath.Join(folder, "usage.db")})
	if err := os.Rename(folder, folder+"-away"); err != nil {
		t.Fatal(err)
	}
	get(t, base+quotePath)
	if err := stop(); err == nil || !strings.Contains(err.Error(), "the last counts are not written") {
		t.Errorf("got %v", err)
	}
}
