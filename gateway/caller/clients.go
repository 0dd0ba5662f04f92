package caller

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quotegate/quotegate/shared/guard"
	"github.com/quotegate/quotegate/shared/jsonfile"
)

const pollEvery = 5 * time.Second

// Clients are the known clients: those of a file, as it was last read. While the
// file is missing or bad, the clients of the last good one stay known. A nil
// Clients knows none.
type Clients struct {
	file    string // empty: there is none
	log     *slog.Logger
	current atomic.Pointer[clientSet]
	refused atomic.Bool // the file is not what is known

	mu       sync.Mutex        // one poll at a time
	lastRead [sha256.Size]byte // of the file's text at the last poll, or of the error
}

// NewClients reads the file. If it is bad, the error lists all its faults.
func NewClients(file string, log *slog.Logger) (*Clients, error) {
	c := &Clients{file: file, log: log}
	set := newClientSet()
	if file != "" {
		data, err := jsonfile.ReadUpTo(file, maxFile)
		if err == nil {
			set, err = parseClients(data)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:\n%w", file, err)
		}
		c.lastRead = sha256.Sum256(data)
		log.Info("known clients", "file", file, "clients", len(set.entries))
	}
	c.current.Store(set)
	return c, nil
}

// Run polls every few seconds until the context ends.
func (c *Clients) Run(ctx context.Context) {
	if c.file == "" {
		return
	}
	guard.Every(ctx, pollEvery, c.log, "polling the clients file", c.Poll)
}

// Poll reads the file if it has changed.
func (c *Clients) Poll() { c.poll(false) }

// Reload is Poll on demand: it logs the result even if nothing has changed.
func (c *Clients) Reload() { c.poll(true) }

func (c *Clients) poll(onDemand bool) {
	if c.file == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	data, err := jsonfile.ReadUpTo(c.file, maxFile)
	found := sha256.Sum256(data)
	if err != nil {
		found = sha256.Sum256([]byte(err.Error()))
	}
	if found == c.lastRead && !onDemand {
		return
	}
	c.lastRead = found
	var set *clientSet
	if err == nil {
		set, err = parseClients(data)
	}
	c.refused.Store(err != nil)
	if err != nil {
		why := "clients file refused"
		if errors.Is(err, fs.ErrNotExist) {
			why = "the clients file is gone"
		}
		c.log.Error(why+"; the clients known before stay", "file", c.file, "faults", strings.Split(err.Error(), "\n"))
		return
	}
	before := c.current.Swap(set)
	added, removed, changed := set.changes(before)
	if len(added)+len(removed)+len(changed) == 0 {
		c.log.Info("known clients unchanged", "file", c.file, "clients", len(set.entries))
		return
	}
	c.log.Info("known clients changed", "file", c.file, "clients", len(set.entries),
		"added", shortened(added), "removed", shortened(removed), "changed", shortened(changed))
}

// Refused reports whether the clients of an earlier file are known, because the file
// is bad or gone.
func (c *Clients) Refused() bool { return c.refused.Load() }

// changes lists by name what differs from the clients before.
func (s *clientSet) changes(before *clientSet) (added, removed, changed []string) {
	old := make(map[string]*entry, len(before.entries))
	for _, e := range before.entries {
		old[e.Name] = e
	}
	for _, e := range s.entries {
		switch was := old[e.Name]; {
		case was == nil:
			added = append(added, e.Name)
		case !reflect.DeepEqual(was, e):
			changed = append(changed, e.Name)
		}
	}
	for _, e := range before.entries {
		if s.names[e.Name] == nil {
			removed = append(removed, e.Name)
		}
	}
	return added, removed, changed
}

// shortened keeps a log line readable.
func shortened(names []string) []string {
	const most = 50
	if len(names) <= most {
		return names
	}
	return append(names[:most:most], fmt.Sprintf("and %d more", len(names)-most))
}

// none is the set of a nil Clients.
var none = newClientSet()

func (c *Clients) set() *clientSet {
	if c == nil {
		return none
	}
	return c.current.Load()
}

// Recognise sets which known client a caller is, if any. It returns false if the
// request has an API key that is not known, or not given properly.
func (c *Clients) Recognise(who *Caller, h http.Header) bool { return c.set().recognise(who, h) }

// Find returns the client with a name.
func (c *Clients) Find(name string) (Client, bool) {
	if known := c.set().names[name]; known != nil {
		return *known, true
	}
	return Client{}, false
}

// All returns every client, in the order of the file.
func (c *Clients) All() []Client {
	set := c.set()
	all := make([]Client, len(set.entries))
	for i, e := range set.entries {
		all[i] = e.Client
	}
	return all
}
