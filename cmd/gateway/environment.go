package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/wire"
)

// environment is all variables of the process, ours and those of others.
type environment map[string]string

// newEnvironment reads variables as os.Environ gives them.
func newEnvironment(variables []string) environment {
	env := make(environment, len(variables))
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	return env
}

// misspelled reports every variable whose name is one typo away from a setting. The
// setting would otherwise silently keep its default.
func (e environment) misspelled() (problems []error) {
	var known []string
	for _, s := range settings(nil) {
		known = append(known, s.name)
		if s.secret {
			known = append(known, s.name+fileSuffix)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e)) {
		if problem := misspelling(name, known); problem != "" {
			problems = append(problems, fmt.Errorf("%s: %s", asWord(name), problem))
		}
	}
	return problems
}

// misspelling says what is wrong with a name. It is empty if the name is known,
// or is another program's.
func misspelling(name string, known []string) string {
	if slices.Contains(known, name) {
		return ""
	}
	if strings.HasPrefix(name, rpc.VariablePrefix) {
		return "names no supported chain; it is " + rpc.VariablePrefix + "<chain>, " +
			"with one of the chains " + chainIDs()
	}
	meant := ""
	nearest := 2 // a name that is further away is another program's: REDIS_SSL is not REDIS_URL
	for _, candidate := range known {
		if d := typos(name, candidate); d < nearest {
			meant = candidate
			nearest = d
		}
	}
	if meant == "" {
		return ""
	}
	return "is not a setting; did you mean " + meant + "? If it is another program's, unset it for this one"
}

func chainIDs() string {
	var ids []string
	for _, n := range chain.Networks() {
		ids = append(ids, n.ID.String())
	}
	return strings.Join(ids, ", ")
}

// typos counts the letters that are missing, added, replaced or swapped with the next
// between two names, up to 2. Letter case and underscores do not count.
func typos(a, b string) int {
	a = strings.ToLower(strings.ReplaceAll(a, "_", ""))
	b = strings.ToLower(strings.ReplaceAll(b, "_", ""))
	switch {
	case len(a) < len(b)-1 || len(a) > len(b)+1: // a long name takes no time
		return 2
	case swapped(a, b):
		return 1
	}
	return wire.EditDistance(a, b)
}

// swapped reports whether two neighbouring letters have changed places.
func swapped(a, b string) bool {
	for i := 1; i < len(a); i++ {
		if a[i-1] != a[i] && a[:i-1]+a[i:i+1]+a[i-1:i]+a[i+1:] == b {
			return true
		}
	}
	return false
}
