package jsonfile

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quotegate/quotegate/shared/safego"
)

// PollEvery is how often Run looks at the file.
const PollEvery = 5 * time.Second

// Watch reads a file again whenever it has changed. While the file is gone or bad,
// what was read before stays in use, and the log says so once. Set the fields, call
// Start, and then Run.
type Watch[T any] struct {
	Path  string // empty: there is no file
	Size  int64  // the most bytes that it may have
	What  string // names the file in the log
	Parse func([]byte) (T, error)
	Use   func(T) error // takes a changed value into use and logs it, or says why not
	Log   *slog.Logger
	Now   func() time.Time

	mu      sync.Mutex        // one look at a time
	seen    [sha256.Size]byte // the text at the last look, or the error
	inUse   [sha256.Size]byte // the text in use
	refused atomic.Pointer[Refusal]
}

// Refusal is why a file is not in use.
type Refusal struct {
	At     time.Time `json:"at"`
	Faults []string  `json:"faults"`
}

// Start reads the file for the first time. The error lists all its faults.
func (w *Watch[T]) Start() (T, error) {
	return Load(w.Path, w.Size, func(data []byte) (T, error) {
		w.inUse = sha256.Sum256(data)
		w.seen = w.inUse
		return w.Parse(data)
	})
}

// Forget has the next Poll take the file as a change, even if its text is in use.
func (w *Watch[T]) Forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = [sha256.Size]byte{}
	w.inUse = w.seen
}

// Run looks at the file every few seconds until the context ends.
func (w *Watch[T]) Run(ctx context.Context) {
	safego.Every(ctx, PollEvery, w.Log, "polling the "+w.What, func() { w.Poll(false) })
}

// Poll reads the file if it has changed. On demand, it also logs that it has not.
func (w *Watch[T]) Poll(onDemand bool) {
	if w.Path == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	data, err := read(w.Path, w.Size)
	found := sha256.Sum256(data)
	if err != nil {
		found = sha256.Sum256([]byte(err.Error()))
	}
	if found == w.seen && !onDemand {
		return
	}
	w.seen = found
	switch {
	case err == nil && found == w.inUse:
		w.Log.Info("the "+w.What+" is valid and in use", "file", w.Path)
	case err == nil:
		err = w.use(data)
	}
	if err != nil {
		faults := strings.Split(err.Error(), "\n")
		w.Log.Error("the "+w.What+" is refused; the last valid one stays in use", "file", w.Path, "faults", faults)
		w.refused.Store(&Refusal{w.Now().UTC(), faults})
		return
	}
	w.inUse = found
	w.refused.Store(nil)
}

func (w *Watch[T]) use(data []byte) error {
	value, err := w.Parse(data)
	if err != nil {
		return err
	}
	return w.Use(value)
}

// Refused is why the file is not what is in use. It is nil if it is.
func (w *Watch[T]) Refused() *Refusal { return w.refused.Load() }
