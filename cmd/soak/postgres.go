package main

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

// postgres is a real PostgreSQL that can be killed, frozen and brought back.
type postgres struct {
	dir  string // of its data and its socket
	bin  string
	attr *syscall.SysProcAttr // PostgreSQL refuses to run as root
	cmd  *exec.Cmd
	done chan struct{}
}

// startPostgres starts one, or gives nil where there is none to be had.
func startPostgres(ctx context.Context) (*postgres, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if path, err := exec.LookPath("postgres"); err == nil && len(found) == 0 {
		found = append(found, path)
	}
	if len(found) == 0 {
		return nil, nil
	}
	dir, err := os.MkdirTemp("", "soak-pg-")
	if err != nil {
		return nil, err
	}
	p := &postgres{dir: dir, bin: filepath.Dir(slices.Max(found))}
	if err = p.create(); err == nil {
		err = p.start(ctx)
	}
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return p, nil
}

func (p *postgres) create() error {
	if os.Geteuid() == 0 {
		account, err := user.Lookup("nobody")
		if err != nil {
			return err
		}
		uid, _ := strconv.Atoi(account.Uid)
		gid, _ := strconv.Atoi(account.Gid)
		p.attr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
		if err := os.Chown(p.dir, uid, gid); err != nil {
			return err
		}
	}
	initdb := exec.Command(filepath.Join(p.bin, "initdb"), "-D", p.data(),
		"-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
	initdb.SysProcAttr, initdb.Dir = p.attr, p.dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}

func (p *postgres) data() string { return filepath.Join(p.dir, "data") }
func (p *postgres) url() string  { return "postgres://postgres@/postgres?host=" + p.dir }

func (p *postgres) start(ctx context.Context) error {
	p.cmd = exec.Command(filepath.Join(p.bin, "postgres"), "-D", p.data(), "-k", p.dir,
		"-c", "listen_addresses=", "-c", "fsync=off")
	p.cmd.SysProcAttr, p.cmd.Dir = p.attr, p.dir
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		_ = cmd.Wait() // it is told to end at once, which is an error
		close(done)
	}(p.cmd, p.done)
	for {
		if exec.Command(filepath.Join(p.bin, "pg_isready"), "-q", "-h", p.dir).Run() == nil {
			return nil
		}
		select {
		case <-p.done:
			return errors.New("PostgreSQL does not start")
		case <-ctx.Done():
			p.kill()
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// kill ends it without a checkpoint and without a word to its clients.
func (p *postgres) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGQUIT) // it may be dead already
	<-p.done
}

// freeze stops all its processes where they are.
func (p *postgres) freeze() error { return p.signal(syscall.SIGSTOP) }
func (p *postgres) thaw() error   { return p.signal(syscall.SIGCONT) }

// signal reaches the server and the processes of its connections.
func (p *postgres) signal(s syscall.Signal) error {
	id := p.cmd.Process.Pid
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", id))
	if err != nil {
		return err
	}
	for _, child := range strings.Fields(string(children)) {
		if number, err := strconv.Atoi(child); err == nil {
			_ = syscall.Kill(number, s) // it may have ended since
		}
	}
	return p.cmd.Process.Signal(s)
}

func (p *postgres) close() {
	_ = p.thaw()
	p.kill()
	os.RemoveAll(p.dir)
}
