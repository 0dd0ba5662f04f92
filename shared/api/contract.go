package api

import (
	"embed"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/shared/static"
	"github.com/quotegate/quotegate/shared/version"
)

// parts describe the answers of the service for the contract file of a version: paths-*.yaml
// are paths, the others the components of one section each. In them, {version} is its name.
//
//go:embed contract/*.yaml
var parts embed.FS

// contractAge is how long clients may keep a contract file without asking again.
const contractAge = 5 * time.Minute

// Contract serves the contract file of a version: its own text, in which a line such as
// "# part: paths-swaps" stands for a file of parts, and the components that it refers to
// and does not define.
func Contract(name string, own []byte) version.Route {
	whole := compose(name, string(own))
	return version.Route{
		Path:   version.ContractPath(name),
		Free:   true,
		Handle: static.Document("application/yaml", []byte(whole), contractAge),
	}
}

func compose(version, own string) string {
	head, text, _ := strings.Cut(own, "\ncomponents:\n")
	var paths strings.Builder
	for line := range strings.Lines(head) {
		if name, isPart := strings.CutPrefix(strings.TrimSpace(line), "# part: "); isPart {
			line = readPart(version, name)
		}
		paths.WriteString(line)
	}
	all, shared := components{}, components{}
	all.add("", text)
	for _, section := range sharedSections {
		shared.add(section, readPart(version, section))
	}
	var complete func(text string)
	complete = func(text string) { // adds what a text refers to, and what that refers to
		for _, reference := range references.FindAllStringSubmatch(text, -1) {
			key := reference[1]
			if all[key] != "" {
				continue
			}
			if shared[key] == "" {
				panic("the contract of " + version + " refers to the component " + key + ", which is not there")
			}
			all[key] = shared[key]
			complete(all[key])
		}
	}
	complete(paths.String() + text)
	return strings.TrimSuffix(paths.String(), "\n") + "\ncomponents:\n" + all.String()
}

func readPart(version, name string) string {
	part, err := parts.ReadFile("contract/" + name + ".yaml")
	if err != nil {
		panic("the contract of " + version + " names a part that is not there: " + err.Error())
	}
	return strings.ReplaceAll(string(part), "{version}", version)
}

var (
	references = regexp.MustCompile(`#/components/(\w+/\w+)`)
	keys       = regexp.MustCompile(`^( {2}| {4})(\w+):`)

	sharedSections = []string{"parameters", "headers", "responses", "schemas", "examples"}
)

// components are the texts of a contract's components, by section and name: "schemas/Quote".
type components map[string]string

// add adds the components of a text: of one section, or of all where the text names them.
func (c components) add(section, text string) {
	var name string
	for line := range strings.Lines(text) {
		key := keys.FindStringSubmatch(line)
		if key != nil && key[1] == "  " {
			section = key[2]
			continue
		}
		if key != nil {
			name = key[2]
		}
		c[section+"/"+name] += line
	}
}

func (c components) String() string {
	var text strings.Builder
	sorted := slices.Sorted(maps.Keys(c))
	for _, section := range append([]string{"securitySchemes"}, sharedSections...) {
		heading := "  " + section + ":\n"
		for _, key := range sorted {
			if strings.HasPrefix(key, section+"/") {
				text.WriteString(heading + c[key])
				heading = ""
			}
		}
	}
	return text.String()
}
