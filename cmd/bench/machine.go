package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// describeMachine says what the figures were taken on, and how busy it was.
func describeMachine(w io.Writer) {
	fmt.Fprintf(w, "%s, %d cores, Linux %s, %s, Node.js %s; %s; load average before the run: %s.\n\n",
		cpuModel(), runtime.NumCPU(), readWord("/proc/sys/kernel/osrelease"), runtime.Version(), nodeVersion(),
		time.Now().UTC().Format("2006-01-02"), readWord("/proc/loadavg"))
}

func cpuModel() string {
	data, _ := os.ReadFile("/proc/cpuinfo") // where there is none, the model is unknown
	for line := range bytes.Lines(data) {
		if name, value, ok := strings.Cut(string(line), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor, " + runtime.GOARCH
}

// readWord is the first word of a file.
func readWord(path string) string {
	data, _ := os.ReadFile(path)
	if fields := strings.Fields(string(data)); len(fields) > 0 {
		return fields[0]
	}
	return "unknown"
}

func nodeVersion() string {
	out, err := exec.Command("node", "--version").Output()
	if err != nil {
		return "absent"
	}
	return strings.TrimSpace(string(out))
}
