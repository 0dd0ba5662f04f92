package pages

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Shell runs the commands of a page.
type Shell struct {
	Dir string   // where they run
	Env []string // of each command
	// Shown are pairs: what a page shows, and what is there instead in this run. Commands and files get the second,
	// what they print is compared as if it were the first.
	Shown []string
}

// patience is longer than any command of a page takes.
const patience = 3 * time.Minute

// Tree makes a shell in a folder that has all of the tree in it, so that commands find it and leave nothing in it. The
// programs of bin are found by their names.
func Tree(t testing.TB, root, bin string) *Shell {
	t.Helper()
	dir := t.TempDir()
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if name := entry.Name(); !strings.HasPrefix(name, ".") && name != "bin" && name != "dist" {
			if err := os.Symlink(filepath.Join(root, name), filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	// As on a terminal, curl shows no progress.
	if err := os.WriteFile(filepath.Join(dir, ".curlrc"), []byte("silent\nshow-error\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "CURL_HOME="+dir, "PATH="+bin+":"+os.Getenv("PATH"))
	return &Shell{Dir: dir, Env: env}
}

// Run runs a command as a page shows it, and gives what it printed, as a page would show it.
func (s *Shell) Run(ctx context.Context, command string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := s.command(ctx, command)
	out, err := cmd.CombinedOutput()
	return s.asShown(string(out)), err
}

func (s *Shell) command(ctx context.Context, command string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", "-c", strings.NewReplacer(s.Shown...).Replace(command))
	cmd.Dir, cmd.Env = s.Dir, s.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

func (s *Shell) asShown(text string) string {
	back := make([]string, 0, len(s.Shown))
	for i := 0; i < len(s.Shown); i += 2 {
		back = append(back, s.Shown[i+1], s.Shown[i])
	}
	return strings.ReplaceAll(strings.NewReplacer(back...).Replace(text), "\r\n", "\n")
}

// Server is a command that goes on.
type Server struct {
	cmd  *exec.Cmd
	mu   sync.Mutex
	text bytes.Buffer
	done chan struct{} // closed when the command and all that it started have ended
}

// Write keeps what the command prints.
func (s *Server) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

// Printed is what the command has printed.
func (s *Server) Printed() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

var _ io.Writer = (*Server)(nil)

// Serve starts a command, and waits until it has printed a text. It ends with the test.
func (s *Shell) Serve(t testing.TB, command, until string) *Server {
	t.Helper()
	server := &Server{cmd: s.command(context.Background(), command), done: make(chan struct{})}
	server.cmd.Stdout, server.cmd.Stderr = server, server
	// The shell and tee end at once, while the gateway between them still writes its counts. Each has this file open.
	lives, open, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	server.cmd.ExtraFiles = []*os.File{open}
	err = server.cmd.Start()
	_ = open.Close()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = server.cmd.Wait() // it is ended with a signal
		_, _ = io.Copy(io.Discard, lives)
		_ = lives.Close()
		close(server.done)
	}()
	t.Cleanup(func() { server.End(syscall.SIGTERM) })
	deadline := time.After(patience)
	for !strings.Contains(server.Printed(), until) {
		select {
		case <-server.done:
			t.Fatalf("%s ended:\n%s", command, server.Printed())
		case <-deadline:
			t.Fatalf("%s does not say %q:\n%s", command, until, server.Printed())
		case <-time.After(20 * time.Millisecond):
		}
	}
	return server
}

// End sends a signal to the command and to what it started, and waits until it has ended.
func (s *Server) End(signal syscall.Signal) {
	_ = syscall.Kill(-s.cmd.Process.Pid, signal)
	select {
	case <-s.done:
	case <-time.After(time.Minute):
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
		<-s.done
	}
}

// Play does what the blocks say, in their order: it writes their files, runs their commands, and compares what these
// print.
func (s *Shell) Play(t *testing.T, blocks []Block) {
	t.Helper()
	printed := ""
	for _, b := range blocks {
		switch b.Mark {
		case "file":
			text := strings.NewReplacer(s.Shown...).Replace(b.Text)
			if err := os.WriteFile(filepath.Join(s.Dir, b.Value), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		case "serve":
			for line := range strings.Lines(b.Text) {
				if strings.TrimSpace(line) != "" {
					s.Serve(t, strings.TrimSpace(line), "serving")
				}
			}
		case "run":
			printed = s.play(t, b)
		case "output":
			compare(t, b, b.Text, printed)
		}
	}
}

// play runs the commands of a block, and gives what the last one printed.
func (s *Shell) play(t *testing.T, b Block) (printed string) {
	t.Helper()
	steps := []step{{command: b.Text}}
	if b.Lang == "console" {
		steps = session(b.Text)
	}
	for _, step := range steps {
		var err error
		printed, err = s.Run(t.Context(), step.command)
		if b.Lang == "console" {
			compare(t, b, step.prints, printed)
		} else if err != nil {
			t.Errorf("%s: %s: %v\n%s", b.Place(), step.command, err, printed)
		}
	}
	return printed
}

func compare(t *testing.T, b Block, shown, printed string) {
	t.Helper()
	if Match(shown, printed) || b.Lang == "json" && MatchJSON(shown, printed) {
		return
	}
	t.Errorf("%s shows another output.\n--- it shows\n%s\n--- printed\n%s", b.Place(), shown, printed)
}

// step is a command of a console block, and what it prints.
type step struct{ command, prints string }

func session(text string) (steps []step) {
	for line := range strings.Lines(text) {
		command, begins := strings.CutPrefix(line, "$ ")
		last := len(steps) - 1
		switch {
		case begins:
			steps = append(steps, step{command: command})
		case last >= 0 && steps[last].prints == "" && strings.HasSuffix(steps[last].command, "\\\n"):
			steps[last].command += line
		case last >= 0:
			steps[last].prints += line
		}
	}
	return steps
}
