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
	meant := ""
	if number, isOfChain := chainVariable(name); isOfChain {
		meant = rpc.VariablePrefix + number
		if !slices.Contains(known, meant) {
			return "names no supported chain; it is " + rpc.VariablePrefix + "<chain>, " +
				"with one of the chains " + chainIDs()
		}
	} else {
		i := slices.IndexFunc(known, func(candidate string) bool { return isSlip(name, candidate) })
		if i < 0 {
			return ""
		}
		meant = known[i]
	}
	return "is not a setting; did you mean " + meant + "? If it is another program's, unset it for this one"
}

// chainVariable reports whether a name was meant to be that of the endpoints of a
// chain, and of which.
func chainVariable(name string) (number string, meant bool) {
	head := strings.TrimRight(name, "0123456789")
	number = name[len(head):]
	begins := strings.HasPrefix(name, strings.TrimSuffix(rpc.VariablePrefix, "_"))
	return number, begins || number != "" && isSlip(head, rpc.VariablePrefix)
}

func chainIDs() string {
	var ids []string
	for _, n := range chain.Networks() {
		ids = append(ids, n.ID.String())
	}
	return strings.Join(ids, ", ")
}

// isSlip reports whether two names are the same but for letter case, underscores,
// and one letter that is missing, added, replaced or swapped with the next. More
// would catch names that other programs use: REDIS_SSL is two letters away from
// REDIS_URL.
func isSlip(a, b string) bool {
	a = strings.ToLower(strings.ReplaceAll(a, "_", ""))
	b = strings.ToLower(strings.ReplaceAll(b, "_", ""))
	if len(a) < len(b)-1 || len(a) > len(b)+1 {
		return false // and a long name takes no time
	}
	return wire.EditDistance(a, b) <= 1 || swapped(a, b)
}

// swapped reports whether two neighbouring letters have changed places.
func swapped(a, b string) bool {
	for i := 1; i < len(a); i++ {
		if a[:i-1]+a[i:i+1]+a[i-1:i]+a[i+1:] == b {
			return true
		}
	}
	return false
}
