package api

import (
	"embed"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/shared/web"
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
// and does not define. A version that has renamed a field which these speak of says so:
// "# renamed: destAmount=dstAmount".
func Contract(version string, own []byte) web.Route {
	whole := compose(version, string(own))
	return web.Route{
		Path:   web.ContractPath(version),
		Free:   true,
		Handle: web.Document("application/yaml", []byte(whole), contractAge),
	}
}

const renaming = "# renamed: "

func compose(version, own string) string {
	read := reader(version, own)
	head, text, found := strings.Cut(own, "\ncomponents:\n")
	var paths strings.Builder
	for line := range strings.Lines(head) {
		if name, isPart := strings.CutPrefix(strings.TrimSpace(line), "# part: "); isPart {
			line = read(name)
		}
		if !strings.HasPrefix(line, renaming) {
			paths.WriteString(line)
		}
	}
	if !found {
		return paths.String()
	}
	all, shared := components{}, components{}
	for _, section := range sections {
		all[section] = map[string]string{}
		shared[section] = map[string]string{}
		if section != "securitySchemes" { // each version has its own
			shared.add(section, read(section))
		}
	}
	all.add("", text)
	for missing := paths.String() + text; missing != ""; { // what is added may refer to more
		var added strings.Builder
		for _, ref := range references.FindAllStringSubmatch(missing, -1) {
			section, name := ref[1], ref[2]
			if all[section][name] != "" {
				continue
			}
			if shared[section][name] == "" {
				panic("the contract of " + version + " refers to the component " + name + ", which is not there")
			}
			all[section][name] = shared[section][name]
			added.WriteString(all[section][name])
		}
		missing = added.String()
	}
	return strings.TrimSuffix(paths.String(), "\n") + "\ncomponents:\n" + all.String()
}

// reader reads files of parts, with the names that a version uses.
func reader(version, own string) func(name string) string {
	words := []string{"{version}", version}
	for line := range strings.Lines(own) {
		if renamed, ok := strings.CutPrefix(line, renaming); ok {
			field, own, _ := strings.Cut(strings.TrimSpace(renamed), "=")
			words = append(words, "`"+field+"`", "`"+own+"`")
		}
	}
	replacer := strings.NewReplacer(words...)
	return func(name string) string {
		part, err := parts.ReadFile("contract/" + name + ".yaml")
		if err != nil {
			panic("the contract of " + version + " names a part that is not there: " + err.Error())
		}
		return replacer.Replace(string(part))
	}
}

var (
	sections   = []string{"securitySchemes", "parameters", "headers", "responses", "schemas", "examples"}
	references = regexp.MustCompile(`#/components/(\w+)/(\w+)`)
)

// components are the texts of a contract's components, by section and name.
type components map[string]map[string]string

// add adds the components of a text: of one section, or of all where the text names them.
func (c components) add(section, text string) {
	var name string
	for line := range strings.Lines(text) {
		switch {
		case isKey(line, 2):
			section = keyOf(line)
			continue
		case isKey(line, 4):
			name = keyOf(line)
		}
		c[section][name] += line
	}
}

// isKey reports whether a line is a key at this depth.
func isKey(line string, depth int) bool {
	rest := strings.TrimLeft(line, " ")
	return len(line)-len(rest) == depth && rest != "\n" && !strings.HasPrefix(rest, "#")
}

func keyOf(line string) string {
	name, _, _ := strings.Cut(strings.TrimSpace(line), ":")
	return name
}

func (c components) String() string {
	var text strings.Builder
	for _, section := range sections {
		if len(c[section]) == 0 {
			continue
		}
		text.WriteString("  " + section + ":\n")
		for _, name := range slices.Sorted(maps.Keys(c[section])) {
			text.WriteString(c[section][name])
		}
	}
	return text.String()
}
