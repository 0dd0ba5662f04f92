package child

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// clockTick is the unit of /proc/<pid>/stat, the same on every Linux.
const clockTick = 10 * time.Millisecond

// CPU is the time the process has had on all processors, in user and kernel
// mode, to a hundredth of a second.
func (s *Server) CPU() (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	// The name, in parentheses, may hold anything. What follows it begins with
	// the third field; user and kernel time are the 14th and 15th.
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields after the name", s.cmd.Process.Pid, len(fields))
	}
	user, err := strconv.ParseInt(string(fields[11]), 10, 64)
	if err != nil {
		return 0, err
	}
	kernel, err := strconv.ParseInt(string(fields[12]), 10, 64)
	if err != nil {
		return 0, err
	}
	return time.Duration(user+kernel) * clockTick, nil
}

// Memory is what the process holds in RAM now, and the most it ever held, in
// bytes.
func (s *Server) Memory() (now, peak int64, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	if now, err = kilobytes(data, "VmRSS:"); err != nil {
		return 0, 0, err
	}
	peak, err = kilobytes(data, "VmHWM:")
	return now, peak, err
}

func kilobytes(status []byte, name string) (int64, error) {
	for line := range bytes.Lines(status) {
		if fields := bytes.Fields(line); len(fields) == 3 && string(fields[0]) == name {
			n, err := strconv.ParseInt(string(fields[1]), 10, 64)
			return n << 10, err
		}
	}
	return 0, fmt.Errorf("%s is missing from the status of the process", name)
}

// Files is how many files and connections the process has open.
func (s *Server) Files() (int, error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid))
	return len(entries), err
}
