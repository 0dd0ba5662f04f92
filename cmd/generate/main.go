// Command generate writes what follows from the table of chains: the tokens that the clients know, tables and lists in
// the documents, the chains in the contract files, and the goldens of a new chain. A file says where by a mark, a
// comment with the name of the part:
//
//	<!-- generated: pairs -->
//	…
//	<!-- generated end -->
//
// The tests of this package compare, and write nothing.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

func main() {
	if err := generate("."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// generate brings the module at root up to date. The goldens come last, since the gateway that they record knows the
// parts.
func generate(root string) error {
	if err := writeParts(root); err != nil {
		return err
	}
	versions, err := writeRequests(root)
	if err != nil {
		return err
	}
	return recordGoldens(root, versions)
}

func writeParts(root string) error {
	files, err := readFiles(root)
	if err != nil {
		return err
	}
	var problems []error
	for _, f := range files {
		text, outdated, err := f.render()
		if err != nil {
			problems = append(problems, err)
		} else if outdated != nil {
			fmt.Println("writing", f.path)
			problems = append(problems, os.WriteFile(filepath.Join(root, f.path), []byte(text), 0o644))
		}
	}
	return errors.Join(problems...)
}

// recordGoldens has the tests of each version write down what the gateway answers.
func recordGoldens(root string, versions []string) error {
	args := []string{"test", "-vet=off", "-count=1", "-run", "^TestGoldens$"}
	for _, version := range versions {
		args = append(args, "./"+version)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "UPDATE_GOLDEN=1")
	cmd.Stdout = os.Stdout
	cmd.Stderr = os.Stderr
	return cmd.Run()
}
