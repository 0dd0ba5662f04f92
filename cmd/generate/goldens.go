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

// missingGoldens looks for a golden of every pair from and to one of the issuer's chains. A missing one asks as that of
// chain 137 does, which every version knows.
func missingGoldens(root string) (versions []string, wanted []missing, err error) {
	const known = 137
	judge, err := referee.New(root)
	if err != nil {
		return nil, nil, err
	}
	examples, err := filepath.Glob(filepath.Join(root, "testdata", "*", goldenOf(known, hub)))
	if err != nil || len(examples) == 0 {
		return nil, nil, fmt.Errorf("no version has a golden %s (%v)", goldenOf(known, hub), err)
	}
	for _, example := range examples {
		folder := filepath.Dir(example)
		version := filepath.Base(folder)
		versions = append(versions, version)
		for _, id := range issuerChains() {
			for _, ends := range [][2]uint64{{uint64(id), hub}, {hub, uint64(id)}} {
				pair, err := judge.Find(chain.USDC, ends[0], chain.USDC, ends[1])
				path := filepath.Join(folder, goldenOf(ends[0], ends[1]))
				if err != nil || !referee.Knows(version, pair) || exists(path) {
					continue // a chain that the referee does not know yet is named by the tests of shared/chain
				}
				like := goldenOf(known, hub)
				if ends[0] == hub {
					like = goldenOf(hub, known)
				}
				data, err := os.ReadFile(filepath.Join(folder, like))
				if err != nil {
					return nil, nil, err
				}
				request, _, _ := strings.Cut(string(data), "\n\n")
				request = strings.Replace(request, fmt.Sprintf("=%d&", known), fmt.Sprintf("=%d&", id), 1)
				wanted = append(wanted, missing{path, request})
			}
		}
	}
	return versions, wanted, nil
}

const hub = uint64(chain.Hub)

func goldenOf(src, dst uint64) string { return fmt.Sprintf("pair-usdc-%d-to-usdc-%d.http", src, dst) }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
