package gateway

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestDeadline(t *testing.T) {
	tests := []struct {
		name string
		end  func(cancel context.CancelFunc)
		want error
	}{
		{"runs out", func(context.CancelFunc) { time.Sleep(requestTimeout) }, context.DeadlineExceeded},
		{"the client leaves", func(cancel context.CancelFunc) { cancel() }, context.Canceled},
		{"is not over yet", func(context.CancelFunc) { time.Sleep(requestTimeout - time.Nanosecond) }, nil},
	}
	for _, tt := range tests {
		for _, waited := range []bool{false, true} {
			t.Run(tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					parent, cancel := context.WithCancel(t.Context())
					defer cancel()
					d := &deadline{Context: parent, at: time.Now().Add(requestTimeout)}
					defer d.release()
					if at, ok := d.Deadline(); !ok || at != time.Now().Add(requestTimeout) {
						t.Errorf("got deadline %v and %v", at, ok)
					}
					if waited {
						d.Done() // starts the timer before anything happens
					}
					tt.end(cancel)
					synctest.Wait()
					if got := d.Err(); !errors.Is(got, tt.want) {
						t.Errorf("got %v, want %v", got, tt.want)
					}
					child, stop := context.WithCancel(d)
					defer stop()
					synctest.Wait()
					if got := child.Err(); !errors.Is(got, tt.want) {
						t.Errorf("a context made of it says %v, want %v", got, tt.want)
					}
					select {
					case <-d.Done():
						if tt.want == nil {
							t.Error("it is done")
						}
					default:
						if tt.want != nil {
							t.Error("it is not done")
						}
					}
				})
			})
		}
	}
}

func TestDeadlineThatNobodyWaitedForIsReleased(t *testing.T) {
	d := &deadline{Context: t.Context(), at: time.Now().Add(requestTimeout)}
	d.release()
	d.release()
	if d.Err() != nil {
		t.Errorf("got %v", d.Err())
	}
}
