package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/testkit/referee"
)

// writeGoldens begins the goldens that are missing, and has the tests of each version write down what the gateway
// answers.
func writeGoldens() error {
	versions, missing, err := missingGoldens(".")
	if err != nil {
		return err
	}
	for path, request := range missing {
		fmt.Println("writing", path)
		if err := os.WriteFile(path, []byte(request+"\n\n"), 0o644); err != nil {
			return err
		}
	}
	args := []string{"test", "-vet=off", "-count=1", "-run", "^TestGoldens$"}
	for _, version := range versions {
		args = append(args, "./"+version)
	}
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "UPDATE_GOLDEN=1")
	cmd.Stdout = os.Stdout
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// missingGoldens gives the versions that have goldens and, by its path, the request of each that is not there. Every
// version has one for each pair that it knows.
func missingGoldens(root string) (versions []string, missing map[string]string, err error) {
	judge, err := referee.New(root)
	if err != nil {
		return nil, nil, err
	}
	missing = map[string]string{}
	examples, err := filepath.Glob(filepath.Join(root, "testdata", "*", exampleTo(uint64(chain.Hub))))
	if err != nil || len(examples) == 0 {
		return nil, nil, fmt.Errorf("no version has a golden %s (%v)", exampleTo(uint64(chain.Hub)), err)
	}
	for _, example := range examples {
		folder := filepath.Dir(example)
		version := filepath.Base(folder)
		versions = append(versions, version)
		for _, p := range judge.Pairs() {
			name := fmt.Sprintf("pair-%s-%d-to-%s-%d.http", p.SrcToken.Symbol, p.Src, p.DstToken.Symbol, p.Dst)
			path := filepath.Join(folder, strings.ToLower(name))
			if _, err := os.Stat(path); err == nil || !referee.Knows(version, p) {
				continue
			}
			if missing[path], err = requestOf(folder, p); err != nil {
				return nil, nil, err
			}
		}
	}
	return versions, missing, nil
}

// requestOf asks for a quote of a pair. Path and recipient are those of the golden of USDC from chain 1 to the same
// privacy pool, or to the hub.
func requestOf(folder string, p referee.Pair) (string, error) {
	like := exampleTo(uint64(chain.Hub))
	if p.Shields() {
		like = exampleTo(p.Dst)
	}
	data, err := os.ReadFile(filepath.Join(folder, like))
	if err != nil {
		return "", err
	}
	request, _, _ := strings.Cut(string(data), "\n\n")
	path, _, _ := strings.Cut(request, "?")
	_, recipient, _ := strings.Cut(request, "&recipient=")
	least, _ := p.Limits()
	amount := "123456789012345678901234567890"[:len(least.String())+1] // about twelve times the least
	return fmt.Sprintf("%s?srcToken=%s&dstToken=%s&amount=%s&srcChain=%d&dstChain=%d&recipient=%s",
		path, p.SrcToken.Symbol, p.DstToken.Symbol, amount, p.Src, p.Dst, recipient), nil
}

func exampleTo(dst uint64) string { return fmt.Sprintf("pair-usdc-1-to-usdc-%d.http", dst) }
