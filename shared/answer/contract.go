package answer

import (
	"embed"
	"strings"
	"time"

	"github.com/quotegate/quotegate/shared/web"
)

// parts describe the answers of the service for the contract file of a version. In them,
// {version} is its name.
//
//go:embed contract/*.yaml
var parts embed.FS

// contractAge is how long clients may keep a contract file without asking again.
const contractAge = 5 * time.Minute

// Contract serves the contract file of a version: its own text, in which a line such as
// "# part: headers" stands for a file of parts. A version that has renamed a field which
// the part speaks of says so in that line: "# part: schemas-rest destAmount=dstAmount".
func Contract(version string, own []byte) web.Route {
	whole := compose(version, string(own))
	return web.Route{
		Path:   web.ContractPath(version),
		Free:   true,
		Handle: web.Document("application/yaml", []byte(whole), contractAge),
	}
}

func compose(version, own string) string {
	var whole strings.Builder
	for line := range strings.Lines(own) {
		named, isPart := strings.CutPrefix(strings.TrimSpace(line), "# part: ")
		if !isPart {
			whole.WriteString(line)
			continue
		}
		name, renamed, _ := strings.Cut(named, " ")
		part, err := parts.ReadFile("contract/" + name + ".yaml")
		if err != nil {
			panic("the contract of " + version + " names a part that is not there: " + err.Error())
		}
		text := strings.ReplaceAll(string(part), "{version}", version)
		for rename := range strings.FieldsSeq(renamed) {
			field, own, _ := strings.Cut(rename, "=")
			text = strings.ReplaceAll(text, "`"+field+"`", "`"+own+"`")
		}
		whole.WriteString(text)
	}
	return whole.String()
}
