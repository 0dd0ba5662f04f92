// Command release makes the files of a release in one folder: static binaries
// of the gateway and its command-line client for each platform, a container
// image, the npm package, a list of the modules in them with their licences, and
// checksums.
//
// It builds what is committed, in a clone of its own, and nothing else. It builds
// twice, in two folders and the second time with an empty build cache, and stops
// if the two differ. So whoever has the same commit and the same Go gets the same
// bytes.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/cli"
)

func main() {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	out := flags.String("o", "dist", "the `folder` to make, which must not exist yet")
	platforms := flags.String("platforms", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64", "what to build for")
	err := cli.Parse(flags, os.Args[1:], "Makes the files of a release from what is committed.", os.Stdout)
	r := release{root: ".", out: *out, platforms: strings.Split(*platforms, ",")}
	os.Exit(cli.Run("release", err, r.make, os.Stderr))
}

// release is what is known about a release while it is made.
type release struct {
	root       string // the repository
	out        string
	platforms  []string // each as GOOS/GOARCH
	shareCache bool     // whether the second build may use the cache of the first, for tests

	version string    // as the client's package.json and the changelog have it
	commit  string    // what is released
	date    time.Time // of the commit: the time of every file
}

// make does it all, in order. The folder appears under its name once it is complete.
func (r *release) make(ctx context.Context) error {
	if _, err := os.Stat(r.out); err == nil {
		return fmt.Errorf("%s exists: remove it, or name another folder with -o", r.out)
	}
	work, err := os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)

	source := filepath.Join(work, "source")
	if err := r.checkOut(ctx, source); err != nil {
		return err
	}
	binaries, err := r.buildTwice(ctx, work, source)
	if err != nil {
		return err
	}
	staged := r.out + ".part"
	if err := os.RemoveAll(staged); err != nil {
		return err
	}
	if err := os.MkdirAll(staged, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(staged)

	steps := []func() error{
		func() error { return r.writeArchives(staged, source, binaries) },
		func() error { return r.writeImage(staged, binaries) },
		func() error { return r.packClient(ctx, staged, source) },
		func() error { return r.writeModules(ctx, staged, source, binaries) },
		func() error { return writeChecksums(staged) },
		func() error { return os.Rename(staged, r.out) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
