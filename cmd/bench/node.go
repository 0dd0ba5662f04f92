package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// haveNode says what is not measured where Node.js is missing.
func haveNode(what string) bool {
	_, err := exec.LookPath("npm")
	if err != nil {
		progress("SKIPPED, NOT MEASURED: %s needs npm, which is not on this machine", what)
	}
	return err == nil
}

// install copies a Node.js program into a scratch folder, with the packages that it needs.
func install(ctx context.Context, root, name string, files ...string) (dir string, err error) {
	progress("installing %s", name)
	dir = filepath.Join(root, ".scratch/bench", name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	for _, cmd := range []*exec.Cmd{
		exec.CommandContext(ctx, "cp", append(files, "-r", "-t", dir)...),
		exec.CommandContext(ctx, "npm", "install", "--loglevel=error", "--prefix", dir),
	} {
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%v: %w\n%s", cmd, err, out)
		}
	}
	return dir, nil
}

// measureEngine has the public RAILGUN engine make shield notes on every core at once, since the gateway, too, is
// measured on a busy machine. It gives how many it makes in a second of CPU time, 0 where Node.js is missing.
func measureEngine(ctx context.Context, o options) (notesPerSecond float64, err error) {
	if !haveNode("the public RAILGUN engine") {
		return 0, nil
	}
	dir, err := install(ctx, o.root, "railgun",
		"testdata/interop/package.json", "testdata/interop/.npmrc", "testdata/bench/railgun.mjs")
	if err != nil {
		return 0, err
	}
	progress("measuring the public RAILGUN engine")
	each := make([]struct{ Notes, CPUSeconds float64 }, runtime.NumCPU())
	var runs errgroup.Group
	for i := range each {
		runs.Go(func() error {
			cmd := exec.CommandContext(ctx, "node", "railgun.mjs", "9")
			cmd.Dir = dir
			out, err := cmd.Output()
			if err != nil {
				return fmt.Errorf("railgun.mjs: %w", err)
			}
			return json.Unmarshal(out, &each[i])
		})
	}
	err = runs.Wait()
	var notes, seconds float64
	for _, one := range each {
		notes += one.Notes
		seconds += one.CPUSeconds
	}
	return notes / seconds, err
}
