package jsonfile_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quotegate/quotegate/shared/jsonfile"
	"github.com/quotegate/quotegate/shared/testkit/journal"
)

func parseFile(data []byte) (f file, err error) { return f, jsonfile.Decode(data, &f).Err() }

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// within fails a test whose work waits for something that never comes.
func within(t *testing.T, work func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); work() }()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("it waits")
	}
}

// notFiles makes what may be at a path instead of a file, and says what the error
// must call it.
func notFiles(t *testing.T) map[string]func(path string) string {
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	return map[string]func(string) string{
		"pipe": func(path string) string {
			check(syscall.Mkfifo(path, 0o600))
			return "is not a regular file"
		},
		"directory": func(path string) string {
			check(os.Mkdir(path, 0o700))
			return "is not a regular file"
		},
		"device": func(path string) string {
			check(os.Symlink("/dev/zero", path))
			return "is not a regular file"
		},
		"large file": func(path string) string {
			check(os.WriteFile(path, make([]byte, jsonfile.MaxSize+1), 0o600))
			return "is larger than 1,048,576 bytes"
		},
		"half-written file": func(path string) string {
			check(os.WriteFile(path, []byte(`{"name": "n", "rows": [{"id"`), 0o600))
			return "not valid JSON: line 1"
		},
	}
}

func TestLoadRefusesWhatIsNoFile(t *testing.T) {
	for name, make := range notFiles(t) {
		path := filepath.Join(t.TempDir(), "f")
		want := make(path)
		within(t, func() {
			if _, err := jsonfile.Load(path, jsonfile.MaxSize, parseFile); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: got %v, want the path and %q", name, err, want)
			}
		})
	}
}

// TestWatchKeepsTheLastGoodFile replaces a good file with everything else that can
// be at its path. Each is refused once, and the good one comes back.
func TestWatchKeepsTheLastGoodFile(t *testing.T) {
	for name, make := range notFiles(t) {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f.json")
			var log journal.Journal
			name := ""
			w := &jsonfile.Watch[file]{
				Path: path, Size: jsonfile.MaxSize, What: "test file", Parse: parseFile, Now: time.Now, Log: slog.New(slog.NewJSONHandler(&log, nil)),
				Use: func(f file) error {
					if f.Name == "never" {
						return errors.New("not this name")
					}
					name = f.Name
					return nil
				},
			}
			put(t, path, `{"name": "first"}`)
			if f, err := w.Start(); err != nil || f.Name != "first" {
				t.Fatalf("got %+v, %v", f, err)
			}
			refused := func(want string, lines int) {
				t.Helper()
				within(t, func() {
					for range 3 {
						w.Poll(false)
					}
				})
				r := w.Refused()
				if r == nil || !strings.Contains(strings.Join(r.Faults, "\n"), want) || r.At.IsZero() || log.Count("the last valid one stays in use") != lines {
					t.Errorf("got %+v, want %q, once:\n%s", r, want, log.String())
				}
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			refused("no such file", 1)
			refused(make(path), 2)
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			put(t, path, `{"name": "never"}`)
			refused("not this name", 3)
			if name != "" {
				t.Fatalf("%q is in use", name)
			}

			put(t, path, `{"name": "first"}`)
			w.Poll(false)
			if w.Refused() != nil || name != "" || log.Count("the test file is valid and in use") != 1 {
				t.Errorf("the first file is back: got %+v, %q\n%s", w.Refused(), name, log.String())
			}
			w.Forget()
			w.Poll(false)
			if w.Refused() != nil || name != "first" {
				t.Errorf("the first file is forgotten: got %+v, %q", w.Refused(), name)
			}
			put(t, path, `{"name": 7}`)
			refused("name: got number, want string", 4)
			put(t, path, `{"name": "second"}`)
			w.Poll(false)
			w.Poll(false)
			if w.Refused() != nil || name != "second" {
				t.Errorf("a second file: got %+v, %q\n%s", w.Refused(), name, log.String())
			}
		})
	}
}

// A poll that panics is followed by the next one.
func TestPollThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "f.json")
		put(t, path, `{"name": "first"}`)
		times := 0
		w := &jsonfile.Watch[file]{
			Path: path, Size: jsonfile.MaxSize, What: "test file", Now: time.Now, Log: slog.New(slog.DiscardHandler),
			Parse: func([]byte) (file, error) {
				times++
				panic("a bug")
			},
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*jsonfile.PollEvery+time.Second)
		defer cancel()
		time.AfterFunc(jsonfile.PollEvery+time.Second, func() { put(t, path, `{"name": "second"}`) })
		w.Run(ctx)
		if times != 2 {
			t.Errorf("the file was read %d times, want 2", times)
		}
	})
}
