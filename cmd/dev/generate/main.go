// Command generate writes what follows from the table of chains: the tokens that the clients know, tables and lists in
// the documents, the chains in the contract files, and the goldens that list chains. A file says where by a mark, a
// comment with the name of the part:
//
//	<!-- generated: pairs -->
//	…
//	<!-- generated end -->
//
// It runs at the root of the module. The tests of this package compare, and write nothing.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

func main() {
	err := writeParts()
	if err == nil {
		err = writeGoldens() // the gateway that they record knows the parts
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func writeParts() error {
	files, err := readFiles(".")
	if err != nil {
		return err
	}
	for _, f := range files {
		text, outdated, err := f.render()
		if err != nil {
			return err
		}
		if outdated == nil {
			continue
		}
		fmt.Println("writing", f.path)
		if err := os.WriteFile(f.path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// writeGoldens has the tests of each version write down what the gateway answers.
func writeGoldens() error {
	tests, err := filepath.Glob("v*/golden_test.go")
	if err != nil {
		return err
	}
	args := []string{"test", "-vet=off", "-count=1", "-run", "^TestGoldens$"}
	for _, test := range tests {
		args = append(args, "./"+filepath.Dir(test))
	}
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "UPDATE_GOLDEN=1")
	cmd.Stdout = os.Stdout
	cmd.Stderr = os.Stderr
	return cmd.Run()
}
