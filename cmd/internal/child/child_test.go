package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary be a server that is started as a gateway is.
func TestMain(m *testing.M) {
	addr := os.Getenv("LISTEN_ADDR")
	if addr == "" {
		os.Exit(m.Run())
	}
	if os.Getenv("LIFECYCLE_FILE") != "" {
		fmt.Fprintln(os.Stderr, "gateway: LIFECYCLE_FILE: no such file")
		os.Exit(1)
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	go func() {
		<-interrupted
		os.Exit(0)
	}()
	var kept [][]byte
	http.HandleFunc("/work", func(http.ResponseWriter, *http.Request) {
		for start := time.Now(); time.Since(start) < time.Second; {
			kept = append(kept[:0], bytes.Repeat([]byte{1}, 32<<20))
		}
	})
	fmt.Fprint(os.Stderr, `{"msg":"ser`)
	fmt.Fprintln(os.Stderr, `ving"}`)
	fmt.Fprintln(os.Stderr, http.ListenAndServe(addr, nil), len(kept))
	os.Exit(3)
}

// TestGateway starts one beside another, sees its CPU time and memory grow as it uses them, and stops it.
func TestGateway(t *testing.T) {
	binary := os.Args[0]
	wanted, err := FreeAddress("")
	if err != nil {
		t.Fatal(err)
	}
	first, err := Gateway{Binary: binary, Listen: wanted}.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer first.Kill()
	if first.Addr != wanted {
		t.Errorf("it serves at %s, want %s", first.Addr, wanted)
	}
	var lines []string
	log := &Log{See: func(line []byte) { lines = append(lines, string(line)) }}
	second, err := Gateway{Binary: binary, Listen: wanted, Log: log}.Start(t.Context())
	if err != nil {
		t.Fatalf("its address is taken: %v", err)
	}
	costs := func() (time.Duration, uint64) {
		cpu, err := second.CPU()
		if err != nil {
			t.Fatal(err)
		}
		peak, err := second.PeakMemory()
		if err != nil {
			t.Fatal(err)
		}
		return cpu, peak
	}
	cpu, peak := costs()
	res, err := http.Get(second.URL() + "/work")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	cpuAfter, peakAfter := costs()
	if used := cpuAfter - cpu; used < 50*time.Millisecond || used > time.Minute {
		t.Errorf("it used %s of CPU time, want a part of a second", used)
	}
	if grown := peakAfter - peak; grown < 30<<20 || grown > 1<<30 {
		t.Errorf("its memory grew by %d bytes, want 32 MiB or a few times that", grown)
	}
	second.Kill()
	err = second.Stop()
	if err == nil || !strings.Contains(err.Error(), "killed") || !strings.Contains(err.Error(), `"serving"`) {
		t.Errorf("got %v, want how it ended and the end of its log", err)
	}
	if len(lines) != 1 || lines[0] != `{"msg":"serving"}` {
		t.Errorf("got the lines %q of its log", lines)
	}
	for range 2 {
		if err := first.Stop(); err != nil {
			t.Error(err)
		}
	}
	_, err = Gateway{Binary: binary, Env: []string{"LIFECYCLE_FILE=/nonexistent"}, Log: &Log{}}.Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "exit status 1") || !strings.Contains(err.Error(), "LIFECYCLE_FILE") {
		t.Errorf("got %v, want what its log says of LIFECYCLE_FILE", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	silent := func(string) *exec.Cmd {
		cancel()
		return exec.Command("sleep", "60")
	}
	if _, err := Start(ctx, "", nil, silent); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v of a start that was cancelled", err)
	}
}
