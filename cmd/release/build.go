package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// binary is one program for one platform.
type binary struct {
	os, arch string
	program  string // gateway or quote
	path     string
}

var programs = []string{"gateway", "quote"}

// checkOut clones what is committed into a folder, and reads which release it is.
func (r *release) checkOut(ctx context.Context, source string) error {
	if changed, err := output(ctx, r.root, nil, "git", "status", "--porcelain"); err != nil {
		return err
	} else if changed != "" {
		return fmt.Errorf("these changes are not committed, and so would not be released:\n%s", changed)
	}
	root, err := output(ctx, r.root, nil, "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	if _, err := output(ctx, ".", nil, "git", "clone", "--quiet", "--no-hardlinks", root, source); err != nil {
		return err
	}
	if r.commit, err = output(ctx, source, nil, "git", "rev-parse", "HEAD"); err != nil {
		return err
	}
	stamp, err := output(ctx, source, nil, "git", "show", "--no-patch", "--format=%ct", "HEAD")
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return fmt.Errorf("the time of the commit: %w", err)
	}
	r.date = time.Unix(seconds, 0).UTC()
	return r.readVersion(source)
}

// readVersion reads the version of the release, which the client's package.json
// says. The changelog must have it too, so that nothing is released undescribed.
func (r *release) readVersion(source string) error {
	text, err := os.ReadFile(filepath.Join(source, "v3", "client", "package.json"))
	if err != nil {
		return err
	}
	var manifest struct{ Version string }
	if err := json.Unmarshal(text, &manifest); err != nil {
		return fmt.Errorf("the client's package.json: %w", err)
	}
	r.version = manifest.Version
	changes, err := os.ReadFile(filepath.Join(source, "docs", "CHANGELOG.md"))
	if err != nil {
		return err
	}
	if !bytes.Contains(changes, []byte("\n## "+r.version)) {
		return fmt.Errorf("docs/CHANGELOG.md has no heading \"## %s\", "+
			"which is the version in v3/client/package.json", r.version)
	}
	return nil
}

// buildTwice builds every program for every platform in two folders, and compares.
func (r *release) buildTwice(ctx context.Context, work, source string) ([]binary, error) {
	first, err := r.build(ctx, source, filepath.Join(work, "first"), "")
	if err != nil {
		return nil, err
	}
	again := filepath.Join(work, "again", "elsewhere")
	if _, err := output(ctx, ".", nil, "git", "clone", "--quiet", "--no-hardlinks", source, again); err != nil {
		return nil, err
	}
	cache := filepath.Join(work, "cache")
	if r.shareCache {
		cache = ""
	}
	second, err := r.build(ctx, again, filepath.Join(work, "second"), cache)
	if err != nil {
		return nil, err
	}
	for i := range first {
		if err := sameFile(first[i].path, second[i].path); err != nil {
			return nil, fmt.Errorf("built twice, %s for %s/%s is not the same: %w",
				first[i].program, first[i].os, first[i].arch, err)
		}
	}
	return first, nil
}

// build builds all binaries into a folder. An empty cache means the usual one.
func (r *release) build(ctx context.Context, source, out, cache string) ([]binary, error) {
	var built []binary
	for _, platform := range r.platforms {
		goos, goarch, ok := strings.Cut(platform, "/")
		if !ok {
			return nil, fmt.Errorf("platform %q is not of the form linux/amd64", platform)
		}
		env := []string{"CGO_ENABLED=0", "GOFLAGS=", "GOOS=" + goos, "GOARCH=" + goarch, "GOWORK=off"}
		if cache != "" {
			env = append(env, "GOCACHE="+cache)
		}
		for _, program := range programs {
			b := binary{goos, goarch, program, filepath.Join(out, goos+"-"+goarch, program)}
			_, err := output(ctx, source, env,
				"go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w", "-o", b.path, "./cmd/"+program)
			if err != nil {
				return nil, err
			}
			built = append(built, b)
		}
	}
	return built, nil
}

func sameFile(a, b string) error {
	first, err := os.ReadFile(a)
	if err != nil {
		return err
	}
	second, err := os.ReadFile(b)
	if err != nil {
		return err
	}
	if !bytes.Equal(first, second) {
		return fmt.Errorf("%d and %d bytes differ", len(first), len(second))
	}
	return nil
}

// packClient makes the npm package.
func (r *release) packClient(ctx context.Context, dir, source string) error {
	to, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	client := filepath.Join(source, "v3", "client")
	_, err = output(ctx, client, nil, "npm", "pack", "--silent", "--pack-destination", to)
	return err
}

// output runs a program and gives what it prints, without the last newline.
func output(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, &complaint)
	}
	return strings.TrimSpace(string(text)), nil
}
