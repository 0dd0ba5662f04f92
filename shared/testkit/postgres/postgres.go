// Package postgres is a PostgreSQL of one's own, for tests and for the soak: a server on
// a socket in a folder of its own, which can be crashed, frozen and brought back.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ErrNone is what New returns on a machine without PostgreSQL.
var ErrNone = errors.New("there is no PostgreSQL on this machine; install the package postgresql")

// Server is a PostgreSQL. Its fields are for who starts another one beside it.
type Server struct {
	Dir  string // of its data and its socket
	bin  string
	attr *syscall.SysProcAttr // PostgreSQL refuses to run as root
	cmd  *exec.Cmd            // nil while it is stopped
}

// Prepare makes a folder for a server that has no data yet.
func Prepare() (*Server, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if path, err := exec.LookPath("postgres"); err == nil && len(found) == 0 {
		found = append(found, path)
	}
	if len(found) == 0 {
		return nil, ErrNone
	}
	dir, err := os.MkdirTemp("", "quotegate-pg-")
	if err != nil {
		return nil, err
	}
	s := &Server{Dir: dir, bin: filepath.Dir(slices.Max(found))}
	if os.Geteuid() == 0 {
		err = s.asNobody()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// New makes a server with its data, and starts it.
func New(ctx context.Context) (*Server, error) {
	s, err := Prepare()
	if err != nil {
		return nil, err
	}
	err = s.Run("initdb", "-D", s.Data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
	if err == nil {
		err = s.Start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.Dir))
	}
	return s, nil
}

// asNobody gives the folder to a user without rights, who runs the server.
func (s *Server) asNobody() error {
	account, err := user.Lookup("nobody")
	if err != nil {
		return err
	}
	uid, _ := strconv.Atoi(account.Uid)
	gid, _ := strconv.Atoi(account.Gid)
	s.attr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return os.Chown(s.Dir, uid, gid)
}

// Data is where its data is.
func (s *Server) Data() string { return filepath.Join(s.Dir, "data") }

// URL is the address of a database.
func (s *Server) URL(database string) string {
	return "postgres://postgres@/" + database + "?host=" + s.Dir
}

// Command is one of PostgreSQL's programs, as the user that runs the server.
func (s *Server) Command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, program), args...)
	cmd.SysProcAttr = s.attr
	cmd.Dir = s.Dir
	return cmd
}

// Run runs one of PostgreSQL's programs to its end.
func (s *Server) Run(program string, args ...string) error {
	if out, err := s.Command(program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", program, err, out)
	}
	return nil
}

const startTimeout = time.Minute

// Start starts the server, and waits until it answers.
func (s *Server) Start(ctx context.Context, settings ...string) error {
	args := []string{"-D", s.Data(), "-k", s.Dir, "-c", "listen_addresses=", "-c", "fsync=off"}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	s.cmd = s.Command("postgres", args...)
	if err := s.cmd.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for s.Command("pg_isready", "-q", "-h", s.Dir).Run() != nil {
		select {
		case <-ctx.Done():
			s.Crash()
			return fmt.Errorf("PostgreSQL does not start: %w", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

// Crash ends the server without a checkpoint and without a word to its clients.
func (s *Server) Crash() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGQUIT) // it may be dead already
	_ = s.cmd.Wait()                          // it was told to end, which is an error
	s.cmd = nil
}

// Close ends it, and removes its folder.
func (s *Server) Close() {
	if s.cmd != nil {
		_ = s.Thaw()
	}
	s.Crash()
	_ = os.RemoveAll(s.Dir)
}

// Freeze stops all its processes where they are.
func (s *Server) Freeze() error { return s.signal(syscall.SIGSTOP) }

// Thaw lets them go on.
func (s *Server) Thaw() error { return s.signal(syscall.SIGCONT) }

// signal reaches the server and the processes of its connections.
func (s *Server) signal(signal syscall.Signal) error {
	children, err := s.children()
	if err != nil {
		return err
	}
	for _, child := range children {
		_ = syscall.Kill(child, signal) // it may have ended since
	}
	return s.cmd.Process.Signal(signal)
}

// children are the processes of its connections, and those that it has for itself.
func (s *Server) children() (all []int, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", s.cmd.Process.Pid))
	for _, child := range strings.Fields(string(text)) {
		if number, err := strconv.Atoi(child); err == nil {
			all = append(all, number)
		}
	}
	return all, err
}

// Processor is the processor time that the server has taken, all its processes together.
func (s *Server) Processor() (sum time.Duration) {
	const tick = 10 * time.Millisecond // of /proc
	id := s.cmd.Process.Pid
	children, _ := s.children() // none where there is no /proc
	for _, process := range append(children, id) {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process)) // it may have ended since
		_, numbers, _ := strings.Cut(string(text), ") ")
		var state string
		var skipped, own, kernel, ended, endedKernel int64
		_, _ = fmt.Sscan(numbers, &state, &skipped, &skipped, &skipped, &skipped, &skipped,
			&skipped, &skipped, &skipped, &skipped, &skipped, &own, &kernel, &ended, &endedKernel)
		sum += time.Duration(own+kernel) * tick
		if process == id {
			sum += time.Duration(ended+endedKernel) * tick // of connections that are closed
		}
	}
	return sum
}
