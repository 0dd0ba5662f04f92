package usage

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestRestart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "usage")
	at := &clock{t: noon}
	first := start(t, Config{File: file}, "", at)
	first.call(origin(1), 5)
	first.call(agent("203.0.113.77"), 2)
	want, name := first.Report(), first.Name(agent("203.0.113.77"))
	first.close()

	at.pass(time.Minute)
	second := start(t, Config{File: file}, "", at)
	got := second.Report()
	got.At = want.At
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got after a restart\n%+v\nwant\n%+v", got, want)
	}
	second.call(agent("203.0.113.1"), 1)
	if got := second.v1(t); got.Week != (Count{8, 2}) || got.Clients[1].Client != name || got.Clients[1].Week != 3 {
		t.Errorf("got %+v, want the agent to be the same as before with 3 calls", got)
	}
	if got := second.Since(); !got.Equal(noon) {
		t.Errorf("got since %v, want %v", got, noon)
	}
	if log := second.log.String(); log != "" {
		t.Errorf("got log %s, want silence", log)
	}
}

// plain is what is in a file, for people.
func plain(t *testing.T, file string) string {
	t.Helper()
	packed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return unzip(t, packed)
}

func unzip(t testing.TB, packed []byte) string {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestFileHoldsNoAddress(t *testing.T) {
	file := filepath.Join(t.TempDir(), "usage")
	r := start(t, Config{File: file, Key: "an operator's own secret"}, "", &clock{t: noon})
	r.call(agent("203.0.113.77"), 2)
	r.call(agent("2001:db8:77::1"), 2)
	r.call(origin(1), 2)
	r.close()
	text := plain(t, file)
	for _, secret := range []string{"203.0.113", "2001:db8", "operator's own", keyFrom("an operator's own secret").String()} {
		if strings.Contains(text, secret) {
			t.Errorf("the file holds %q:\n%s", secret, text)
		}
	}
	for _, shown := range []string{"https://wallet-1.example", `"curl"`} {
		if !strings.Contains(text, shown) {
			t.Errorf("the file lacks %q:\n%s", shown, text)
		}
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o600 {
		t.Errorf("got mode %v, want that its owner alone may read it", got)
	}
}

// TestDamage spoils a file in every way a disk or a person can.
func TestDamage(t *testing.T) {
	good := filepath.Join(t.TempDir(), "usage")
	r := start(t, Config{File: good}, "", &clock{t: noon})
	r.call(origin(1), 5)
	r.close()
	data, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(data)
	flipped[len(flipped)/2] ^= 0x10
	zip := func(text string) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for name, bad := range map[string][]byte{
		"empty":            {},
		"cut off":          data[:len(data)-5],
		"cut in half":      data[:len(data)/2],
		"a bit flipped":    flipped,
		"text":             []byte("counts, please"),
		"JSON":             []byte(plain(t, good)),
		"other JSON":       zip(`{"versions": {}}`),
		"a later format":   zip(strings.Replace(plain(t, good), format, "quotegate usage 2", 1)),
		"a slot too many":  zip(strings.Replace(plain(t, good), `"hour":[`, `"hour":[{},`, 1)),
		"a slot elsewhere": zip(strings.Replace(plain(t, good), `"start":`, `"start":1`, 1)),
		"no sketch":        zip(strings.Replace(plain(t, good), `"clients":"`, `"clients":"AAAA`, 1)),
		"a strange client": zip(strings.Replace(plain(t, good), `"text":"https`, `"text":"\u0000https`, 1)),
		"a huge count":     zip(strings.Replace(plain(t, good), `"calls":5`, `"calls":18446744073709551615`, 1)),
		"a bad key":        zip(strings.Replace(plain(t, good), `"key":"`, `"key":"x`, 1)),
		"a bomb":           zip(strings.Repeat(" ", maxPlain+1)),
		"too large":        bytes.Repeat([]byte{1}, maxPacked+1),
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "usage")
			if err := os.WriteFile(file, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			r := start(t, Config{File: file}, "", &clock{t: noon})
			if log := r.log.String(); !strings.Contains(log, "level=ERROR") || !strings.Contains(log, file+".unreadable") {
				t.Errorf("got log %s, want it to say where the file is", log)
			}
			if got := r.v1(t).Week; got != (Count{}) {
				t.Errorf("got %+v from a damaged file, want nothing", got)
			}
			if aside, err := os.ReadFile(file + ".unreadable"); err != nil || !bytes.Equal(aside, bad) {
				t.Errorf("the file was not set aside as it was: %v", err)
			}
			r.call(origin(1), 1)
			r.close()
			if again := start(t, Config{File: file}, "", &clock{t: noon}); again.v1(t).Week != (Count{1, 1}) {
				t.Errorf("got %+v, want what was counted since", again.v1(t).Week)
			}
		})
	}
}

// TestNotAFile makes sure that nothing but a file of ours is ever replaced.
func TestNotAFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	r := start(t, Config{File: dir}, "", &clock{t: noon})
	r.call(origin(1), 1)
	r.sync(t.Context())
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		t.Errorf("got %v, %v, want the directory as it was", info, err)
	}
	if notes := r.Report().Notes; len(notes) != 1 || !strings.Contains(notes[0], "counts are not saved") {
		t.Errorf("got notes %q, want that nothing is saved", notes)
	}
}

func TestDirectoryThatIsGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	file := filepath.Join(dir, "usage")
	r := start(t, Config{File: file}, "", &clock{t: noon})
	r.sync(t.Context())
	r.sync(t.Context())
	if notes := r.Report().Notes; len(notes) != 1 || !strings.Contains(notes[0], "counts are not saved since 2027-03-10T12:32:10Z") {
		t.Errorf("got notes %q, want since when nothing is saved", notes)
	}
	if got := r.log.Count("cannot be written"); got != 1 {
		t.Errorf("got %d lines about it, want 1:\n%s", got, r.log)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	r.sync(t.Context())
	if notes := r.Report().Notes; len(notes) != 0 {
		t.Errorf("got notes %q once it can be written, want none", notes)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

// TestWritesWholeFiles leaves what a process killed while writing leaves, and
// looks for anything but the file afterwards.
func TestWritesWholeFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "st*te [1]") // nothing to Glob for
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "usage")
	for _, name := range []string{"usage.123.tmp", "usage.456.tmp", "usages.tmp"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half of a st"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := start(t, Config{File: file}, "", &clock{t: noon})
	r.call(origin(1), 1)
	r.close()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{"usage", "usages.tmp"}; !reflect.DeepEqual(names, want) {
		t.Errorf("got files %q, want %q", names, want)
	}
}

func TestKeyThatChanges(t *testing.T) {
	file := filepath.Join(t.TempDir(), "usage")
	at := &clock{t: noon}
	first := start(t, Config{File: file, Key: "the first of two keys"}, "", at)
	first.call(origin(1), 5)
	first.call(agent("203.0.113.77"), 2)
	first.close()
	second := start(t, Config{File: file, Key: "the second of two keys"}, "", at)
	if log := second.log.String(); !strings.Contains(log, "the key has changed") {
		t.Errorf("got log %s, want it to say that the key has changed", log)
	}
	second.call(origin(1), 1)
	second.call(agent("203.0.113.77"), 1)
	got := second.v1(t)
	if got.Week.Calls != 9 || len(got.Clients) != 3 || got.Clients[0].Week != 6 {
		t.Errorf("got %+v, want 9 calls, 6 of them of the one origin", got)
	}
	if got.Week.Clients < 2 || got.Week.Clients > 4 {
		t.Errorf("got %d clients, want no fewer than there are and none more than twice", got.Week.Clients)
	}
}

// TestVersionsComeAndGo restarts into a release that serves others.
func TestVersionsComeAndGo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "usage")
	first := start(t, Config{File: file}, "", &clock{t: noon})
	first.call(origin(1), 5)
	first.close()
	second, err := New(t.Context(), Config{File: file}, Options{Versions: []string{"v4", "v1"}, Now: (&clock{t: noon}).now})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close(t.Context())
	if _, calls := second.LastDay("v1"); calls != 5 {
		t.Errorf("got %d calls of v1, want 5", calls)
	}
	if _, calls := second.LastDay("v4"); calls != 0 {
		t.Errorf("got %d calls of v4, want none", calls)
	}
}

func FuzzDecode(f *testing.F) {
	b := newBook(maxRows)
	k := randomKey()
	for n := range 20 {
		b.record(k.identity(origin(n)), &k, origin(n), noon.Unix())
	}
	encoded, err := (&state{key: &k, books: map[string]*book{"v1": b}}).encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(unzip(f, encoded)))
	f.Add([]byte(`{"format":"quotegate usage 1","versions":{"v1":null}}`))
	f.Add([]byte(`{"format":"quotegate usage 1","versions":{"v1":{"rows":[{"day":[],"week":[]}]}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, _ = w.Write(text)
		_ = w.Close()
		s, err := decode(packed.Bytes(), versions, k)
		if err != nil {
			return
		}
		// What is accepted can be used, and is the same when it is read again.
		own := newBook(maxRows)
		for _, b := range s.books {
			own.merge(b, noon.Unix())
		}
		checkHeap(t, &own.rows)
		if _, err := json.Marshal(own.report("v1", noon.Unix())); err != nil {
			t.Error(err)
		}
		again, err := s.encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decode(again, versions, k); err != nil {
			t.Errorf("what was accepted once is refused: %v", err)
		}
	})
}
