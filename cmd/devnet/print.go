package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// A printer writes lines for a person, from any goroutine.
type printer struct {
	mu  sync.Mutex
	out io.Writer
}

func (p *printer) line(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, format+"\n", args...)
}

// during does something that may take a while, and says so from beginning to end.
func (p *printer) during(what string, do func() error) error {
	begin := time.Now()
	p.line("%s…", what)
	if err := p.waiting("  ", do); err != nil {
		return err
	}
	p.line("  done in %s", time.Since(begin).Round(100*time.Millisecond))
	return nil
}

// waiting does something, and says so if it takes a while.
func (p *printer) waiting(indent string, do func() error) error {
	ctx, done := context.WithCancel(context.Background())
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		p.remind(ctx, indent)
	}()
	defer func() {
		done()
		<-shown
	}()
	return do()
}

// remind shows from time to time that something still goes on.
func (p *printer) remind(ctx context.Context, indent string) {
	begin := time.Now()
	ticker := time.NewTicker(2 * time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			p.line("%sstill at it after %s", indent, time.Since(begin).Round(time.Second))
		}
	}
}
