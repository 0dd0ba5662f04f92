package main

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
)

// The list of modules is an SPDX 2.3 document: what is in the binaries, as the
// binaries themselves say, and under which licence each module is published.

type spdxDocument struct {
	Version           string             `json:"spdxVersion"`
	DataLicense       string             `json:"dataLicense"`
	ID                string             `json:"SPDXID"`
	Name              string             `json:"name"`
	DocumentNamespace string             `json:"documentNamespace"`
	CreationInfo      spdxCreation       `json:"creationInfo"`
	Packages          []spdxPackage      `json:"packages"`
	Relationships     []spdxRelationship `json:"relationships"`
}

type spdxCreation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPackage struct {
	Name             string          `json:"name"`
	ID               string          `json:"SPDXID"`
	Version          string          `json:"versionInfo"`
	DownloadLocation string          `json:"downloadLocation"`
	FilesAnalyzed    bool            `json:"filesAnalyzed"`
	LicenseConcluded string          `json:"licenseConcluded"`
	LicenseDeclared  string          `json:"licenseDeclared"`
	Copyright        string          `json:"copyrightText"`
	References       []spdxReference `json:"externalRefs,omitempty"`
}

type spdxReference struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type spdxRelationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

const noAssertion = "NOASSERTION"

// writeModules lists the modules of all binaries.
func (r *release) writeModules(ctx context.Context, dir, source string, binaries []binary) error {
	linked, goVersion, err := linkedModules(binaries)
	if err != nil {
		return err
	}
	document, err := r.describe(ctx, source, linked, goVersion)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "quotegate_"+r.version+".spdx.json"), append(text, '\n'), 0o644)
}

// linkedModules are the modules in any of the binaries, by path.
func linkedModules(binaries []binary) (map[string]*debug.Module, string, error) {
	linked := map[string]*debug.Module{}
	goVersion := ""
	for _, b := range binaries {
		info, err := buildinfo.ReadFile(b.path)
		if err != nil {
			return nil, "", err
		}
		goVersion = info.GoVersion
		for _, module := range info.Deps {
			if module.Replace != nil {
				return nil, "", fmt.Errorf("%s is replaced by %s: a release is made of published modules",
					module.Path, module.Replace.Path)
			}
			linked[module.Path] = module
		}
	}
	return linked, goVersion, nil
}

func (r *release) describe(
	ctx context.Context, source string, linked map[string]*debug.Module, goVersion string,
) (*spdxDocument, error) {
	const self = "SPDXRef-quotegate"
	d := &spdxDocument{
		Version: "SPDX-2.3", DataLicense: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: "quotegate-" + r.version,
		DocumentNamespace: "https://github.com/quotegate/quotegate/spdx/" + r.version + "/" + r.commit,
		CreationInfo:      spdxCreation{r.date.Format("2006-01-02T15:04:05Z"), []string{"Tool: quotegate-release"}},
		Packages: []spdxPackage{
			{
				Name: "github.com/quotegate/quotegate", ID: self, Version: r.version,
				DownloadLocation: noAssertion, Copyright: noAssertion,
				LicenseConcluded: "NONE", LicenseDeclared: "NONE",
			},
			{
				Name: "std", ID: "SPDXRef-go", Version: strings.TrimPrefix(goVersion, "go"),
				DownloadLocation: noAssertion, Copyright: noAssertion,
				LicenseConcluded: "BSD-3-Clause", LicenseDeclared: "BSD-3-Clause",
			},
		},
		Relationships: []spdxRelationship{
			{"SPDXRef-DOCUMENT", "DESCRIBES", self},
			{self, "DEPENDS_ON", "SPDXRef-go"},
		},
	}
	var unknown []string
	for i, path := range sortedKeys(linked) {
		folder, err := output(ctx, source, []string{"GOFLAGS=-mod=mod"}, "go", "list", "-m", "-f", "{{.Dir}}", path)
		if err != nil {
			return nil, err
		}
		licence, err := licenceOf(folder)
		if err != nil {
			unknown = append(unknown, fmt.Sprintf("%s: %v", path, err))
			continue
		}
		id := fmt.Sprintf("SPDXRef-module-%d", i+1)
		d.Packages = append(d.Packages, spdxPackage{
			Name: path, ID: id, Version: linked[path].Version,
			DownloadLocation: noAssertion, LicenseConcluded: licence, LicenseDeclared: licence, Copyright: noAssertion,
			References: []spdxReference{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + path + "@" + linked[path].Version}},
		})
		d.Relationships = append(d.Relationships, spdxRelationship{self, "DEPENDS_ON", id})
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf("look at the licences of these modules, and teach cmd/release about them:\n%s",
			strings.Join(unknown, "\n"))
	}
	return d, nil
}

// licences are told by sentences that only they have. The first that fits counts, so
// that a text that quotes another licence comes before it.
var licences = []struct {
	id       string
	sentence string
}{
	{"Apache-2.0", "apache license version 2.0"},
	{"MPL-2.0", "mozilla public license version 2.0"},
	{"LGPL-3.0-or-later", "gnu lesser general public license version 3"},
	{"GPL-3.0-or-later", "gnu general public license version 3"},
	{"BSD-3-Clause", "be used to endorse or promote products derived from"},
	{"BSD-2-Clause", "redistributions in binary form must reproduce the above copyright"},
	{"MIT", "permission is hereby granted free of charge to any person obtaining a copy of this software"},
	{"ISC", "with or without fee is hereby granted provided that the above copyright notice " +
		"and this permission notice appear"},
	{"CC0-1.0", "cc0 1.0 universal"},
	{"Unlicense", "this is free and unencumbered software released into the public domain"},
}

// licenceFiles are where a module says its licence, the more lenient one first: the
// library part of a program may have its own.
var licenceFiles = []string{"COPYING.LESSER", "LICENSE", "LICENSE.txt", "LICENSE.md", "COPYING", "LICENCE"}

var punctuation = regexp.MustCompile(`[^a-z0-9.]+`)

// licenceOf is the licence of the module in a folder, as SPDX writes it.
func licenceOf(folder string) (string, error) {
	for _, name := range licenceFiles {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return "", err
		}
		words := punctuation.ReplaceAllString(strings.ToLower(string(text)), " ")
		for _, l := range licences {
			if strings.Contains(words, l.sentence) {
				return l.id, nil
			}
		}
		return "", fmt.Errorf("the licence in %s is none that is known", name)
	}
	return "", fmt.Errorf("it has none of the files %s", strings.Join(licenceFiles, ", "))
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
