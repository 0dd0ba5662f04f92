package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/testkit/referee"
)

// missing is a golden that a version lacks, and the request that it begins with.
type missing struct{ path, request string }

// writeRequests begins the goldens that are missing, and tells the versions that have goldens.
func writeRequests(root string) (versions []string, err error) {
	versions, wanted, err := missingGoldens(root)
	if err != nil {
		return nil, err
	}
	var problems []error
	for _, m := range wanted {
		fmt.Println("writing", m.path)
		problems = append(problems, os.WriteFile(m.path, []byte(m.request+"\n\n"), 0o644))
	}
	return versions, errors.Join(problems...)
}

// missingGoldens looks for a golden of every pair of each version. A missing one has the path and the recipient of that
// of USDC from chain 1 to the same privacy pool, or to the hub.
func missingGoldens(root string) (versions []string, wanted []missing, err error) {
	judge, err := referee.New(root)
	if err != nil {
		return nil, nil, err
	}
	examples, err := filepath.Glob(filepath.Join(root, "testdata", "*", exampleTo(hub)))
	if err != nil || len(examples) == 0 {
		return nil, nil, fmt.Errorf("no version has a golden %s (%v)", exampleTo(hub), err)
	}
	for _, example := range examples {
		folder := filepath.Dir(example)
		version := filepath.Base(folder)
		versions = append(versions, version)
		for _, pair := range judge.Pairs() {
			path := filepath.Join(folder, goldenOf(pair))
			if !referee.Knows(version, pair) || exists(path) {
				continue
			}
			request, err := requestOf(folder, pair)
			if err != nil {
				return nil, nil, err
			}
			wanted = append(wanted, missing{path, request})
		}
	}
	return versions, wanted, nil
}

// requestOf asks for a quote of a pair, as the goldens in a folder do.
func requestOf(folder string, p referee.Pair) (string, error) {
	like := exampleTo(hub)
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

const hub = uint64(chain.Hub)

func exampleTo(dst uint64) string { return fmt.Sprintf("pair-usdc-1-to-usdc-%d.http", dst) }

func goldenOf(p referee.Pair) string {
	return strings.ToLower(fmt.Sprintf("pair-%s-%d-to-%s-%d.http", p.SrcToken.Symbol, p.Src, p.DstToken.Symbol, p.Dst))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
