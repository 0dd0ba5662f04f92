package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/oasdiff/yaml"
)

// contractSources are the sources of the contract files, one in the folder of each version.
const contractSources = "v*/contract.yaml"

// contractFiles returns the contract of a version in the two forms that are served, by name.
func contractFiles(root, version string) (map[string]string, error) {
	text, err := composeContract(root, version)
	if err != nil {
		return nil, err
	}
	compact, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, compact, "", " "); err != nil {
		return nil, err
	}
	return map[string]string{"openapi.yaml": text, "openapi.json": indented.String() + "\n"}, nil
}

// composeContract returns the contract of a version: its source, in which a line such as
// "# part: paths-swaps" includes a shared file, and the shared components that it references but does not define.
func composeContract(root, version string) (string, error) {
	own, err := readSource(filepath.Join(root, version, "contract.yaml"))
	if err != nil {
		return "", err
	}
	shared, err := readShared(root, version)
	if err != nil {
		return "", err
	}
	return compose(own, shared)
}

// readShared reads the files that all versions share, by name. In them, {version} is the name of the version.
func readShared(root, version string) (map[string]string, error) {
	paths, err := filepath.Glob(filepath.Join(root, "shared/api/contract/*.yaml"))
	if err != nil {
		return nil, err
	}
	shared := map[string]string{}
	for _, path := range paths {
		text, err := readSource(path)
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		shared[name] = strings.ReplaceAll(text, "{version}", version)
	}
	return shared, nil
}

// readSource reads a file without the comment at its top, which is for editors of the source.
func readSource(path string) (string, error) {
	data, err := os.ReadFile(path)
	text := string(data)
	for strings.HasPrefix(text, "#") {
		_, text, _ = strings.Cut(text, "\n")
	}
	return text, err
}

var (
	reference = regexp.MustCompile(`#/components/(\w+/\w+)`)
	key       = regexp.MustCompile(`^( {2}| {4})(\w+):`)

	// sections of components that versions share.
	sections = []string{"parameters", "headers", "responses", "schemas", "examples"}
)

func compose(own string, shared map[string]string) (string, error) {
	head, ownComponents, _ := strings.Cut(own, "\ncomponents:\n")
	var paths strings.Builder
	for line := range strings.Lines(head + "\n") {
		if name, isPart := strings.CutPrefix(strings.TrimSpace(line), "# part: "); isPart {
			if line = shared[name]; line == "" {
				return "", fmt.Errorf("shared/api/contract has no %s.yaml", name)
			}
		}
		paths.WriteString(line)
	}
	chosen := components{}
	chosen.add("", ownComponents)
	known := components{}
	for _, section := range sections {
		known.add(section, shared[section])
	}
	if err := chosen.complete(known, paths.String()+ownComponents); err != nil {
		return "", err
	}
	return paths.String() + "components:\n" + chosen.String(), nil
}

// components are the texts of a contract's components, by section and name: "schemas/Quote".
type components map[string]string

// add adds the components of a text: of one section, or of all where the text names them.
func (c components) add(section, text string) {
	var name string
	for line := range strings.Lines(text) {
		found := key.FindStringSubmatch(line)
		if found != nil && found[1] == "  " {
			section = found[2]
			continue
		}
		if found != nil {
			name = found[2]
		}
		c[section+"/"+name] += line
	}
}

// complete adds the known components that a text references, directly or through others.
func (c components) complete(known components, text string) error {
	for _, found := range reference.FindAllStringSubmatch(text, -1) {
		name := found[1]
		if c[name] != "" {
			continue
		}
		if known[name] == "" {
			return fmt.Errorf("the component %s is referenced but not defined", name)
		}
		c[name] = known[name]
		if err := c.complete(known, c[name]); err != nil {
			return err
		}
	}
	return nil
}

func (c components) String() string {
	var text strings.Builder
	sorted := slices.Sorted(maps.Keys(c))
	for _, section := range append([]string{"securitySchemes"}, sections...) {
		heading := "  " + section + ":\n"
		for _, name := range sorted {
			if strings.HasPrefix(name, section+"/") {
				text.WriteString(heading + c[name])
				heading = ""
			}
		}
	}
	return text.String()
}
