package child

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of /proc/<pid>/stat, the same on every Linux.
const clockTick = 10 * time.Millisecond

// proc is the folder of the process.
func (s *Server) proc() string { return fmt.Sprintf("/proc/%d/", s.cmd.Process.Pid) }

// CPU is the time the process has had on all processors, in user and kernel mode, to a hundredth of a second.
func (s *Server) CPU() (time.Duration, error) {
	data, err := os.ReadFile(s.proc() + "stat")
	if err != nil {
		return 0, err
	}
	// The name, in parentheses, may hold anything. What follows it begins with
	// the third field; user and kernel time are the 14th and 15th.
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick, nil
}

// Memory is what the process holds in RAM now, and the most it ever held, in bytes.
func (s *Server) Memory() (now, peak int64, err error) {
	data, err := os.ReadFile(s.proc() + "status")
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(data)) {
		_, _ = fmt.Sscanf(line, "VmRSS: %d", &now) // other lines do not match
		_, _ = fmt.Sscanf(line, "VmHWM: %d", &peak)
	}
	if now == 0 || peak == 0 {
		return 0, 0, fmt.Errorf("%sstatus does not tell the memory of the process", s.proc())
	}
	return now << 10, peak << 10, nil
}

// Files is how many files and connections the process has open.
func (s *Server) Files() (int, error) {
	entries, err := os.ReadDir(s.proc() + "fd")
	return len(entries), err
}
