// Command generate writes generated files and parts of files. Run it at the root of the module.
//
//   - From the table of chains: the tokens that the clients know, tables and lists in the documents, and the chains in
//     the contract files. A mark shows the place: <!-- generated: pairs --> … <!-- generated end -->
//   - The contract files that are served, v*/openapi.yaml and v*/openapi.json, from v*/contract.yaml and
//     shared/api/contract.
//   - The client in JavaScript that is packed and served, v3/client/npm, from v3/client/npm/src: this needs npm.
//   - The nginx of docs/operate/compose.yaml, from the block of docs/operate/instances.md.
//   - The goldens.
//
// The tests of this package compare without writing.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

func main() {
	// Each needs what the one before wrote.
	for _, step := range []func() error{writeParts, writeContracts, writeClient, writeNginx, writeGoldens} {
		if err := step(); err != nil {
			fmt.Fprintln(os.Stderr, "generate:", err)
			os.Exit(1)
		}
	}
}

func writeParts() error {
	files, err := readFiles(".")
	if err != nil {
		return err
	}
	for _, f := range files {
		text, _, err := f.render()
		if err != nil {
			return err
		}
		if err := write(f.path, text); err != nil {
			return err
		}
	}
	return nil
}

// write writes a file, unless it is unchanged.
func write(path, text string) error {
	before, err := os.ReadFile(path)
	if err == nil && string(before) == text {
		return nil
	}
	fmt.Println("writing", path)
	return os.WriteFile(path, []byte(text), 0o644)
}

func writeContracts() error {
	sources, err := filepath.Glob(contractSources)
	if err != nil {
		return err
	}
	for _, source := range sources {
		version := filepath.Dir(source)
		files, err := contractFiles(".", version)
		if err != nil {
			return fmt.Errorf("%s: %w", source, err)
		}
		for name, text := range files {
			if err := write(filepath.Join(version, name), text); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeClient makes the test of the client write what it compiles.
func writeClient() error { return update("^TestClientBuild$", "./v3") }

// writeNginx makes the test of the file write it.
func writeNginx() error { return update("^TestNginxOfCompose$", "./cmd/gateway") }

// writeGoldens makes the tests of each version record the gateway's answers.
func writeGoldens() error {
	tests, err := filepath.Glob("v*/golden_test.go")
	if err != nil {
		return err
	}
	var folders []string
	for _, test := range tests {
		folders = append(folders, "./"+filepath.Dir(test))
	}
	return update("^TestGoldens$", folders...)
}

// update runs a test that writes what it would compare.
func update(test string, folders ...string) error {
	args := append([]string{"test", "-vet=off", "-count=1", "-run", test}, folders...)
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "UPDATE_GOLDEN=1")
	cmd.Stdout = os.Stdout
	cmd.Stderr = os.Stderr
	return cmd.Run()
}
