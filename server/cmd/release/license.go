package main

import (
	"bytes"
	"debug/buildinfo"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// htmxLicense is the licence of the script that the console embeds.
//
//go:embed embedded/htmx.txt
var htmxLicense string

// licensed is something of others that is in a binary, with the texts it comes with.
type licensed struct {
	name, version string
	texts         []text
}

// text is a file: its name and what is in it.
type text struct{ name, content string }

// texts are the files that may hold a licence or what it wants repeated; the first kind
// must be there.
var (
	licenseFile = regexp.MustCompile(`(?i)^(licen[sc]e|copying)(\.txt|\.md)?$`)
	noticeFile  = regexp.MustCompile(`(?i)^((licen[sc]e|copying)[-._].+|notice(\.txt|\.md)?|patents|authors)$`)
)

// writeLicenses writes the licence texts of all that is linked into the binaries or embedded
// in them. It fails if one has no text, or a licence that is not allowed.
func writeLicenses(out io.Writer, binaries []string) error {
	list, err := linked(binaries)
	if err != nil {
		return err
	}
	list = append(list, licensed{name: "htmx", version: "2.0.10", texts: []text{{"LICENSE", htmxLicense}}})
	slices.SortFunc(list, func(a, b licensed) int { return strings.Compare(a.name, b.name) })
	var b bytes.Buffer
	fmt.Fprintf(&b, "Recoup contains the following software of others, under these licences.\n")
	for _, l := range list {
		license, failed := l.license()
		err = errors.Join(err, failed)
		fmt.Fprintf(&b, "\n%s\n%s %s (%s)\n", strings.Repeat("=", 80), l.name, l.version, license)
		for _, t := range l.texts {
			fmt.Fprintf(&b, "%s\n%s\n\n%s\n", strings.Repeat("-", 80), t.name, strings.TrimSpace(t.content))
		}
	}
	if err != nil {
		return err
	}
	_, err = out.Write(b.Bytes())
	return err
}

// linked lists the modules that the binaries were linked from, and the standard library.
func linked(binaries []string) ([]licensed, error) {
	modules := map[string]string{}
	var standard string
	for _, binary := range binaries {
		build, err := buildinfo.ReadFile(binary)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", binary, err)
		}
		standard = build.GoVersion
		for _, m := range foreign(build) {
			modules[m.Path] = m.Version
		}
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	list := []licensed{{name: "Go standard library", version: standard}}
	if list[0].texts, err = readTexts(strings.TrimSpace(string(root))); err != nil {
		return nil, err
	}
	folders, err := moduleFolders(slices.Sorted(maps.Keys(modules)))
	if err != nil {
		return nil, err
	}
	for path, version := range modules {
		l := licensed{name: path, version: version}
		if l.texts, err = readTexts(folders[path]); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		list = append(list, l)
	}
	return list, nil
}

// moduleFolders returns where the module cache has the source of modules.
func moduleFolders(paths []string) (map[string]string, error) {
	out, err := exec.Command("go", append([]string{"list", "-m", "-f", "{{.Path}}\t{{.Dir}}"}, paths...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	folders := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, folder, _ := strings.Cut(strings.TrimSpace(line), "\t")
		folders[path] = folder
	}
	return folders, nil
}

// readTexts reads the licence and the notices of a folder, the licence first.
func readTexts(folder string) (texts []text, err error) {
	if folder == "" {
		return nil, errors.New("its source is not in the module cache: run go mod download")
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, kind := range []*regexp.Regexp{licenseFile, noticeFile} {
		for _, e := range entries {
			if !e.Type().IsRegular() || !kind.MatchString(e.Name()) {
				continue
			}
			content, err := os.ReadFile(filepath.Join(folder, e.Name()))
			if err != nil {
				return nil, err
			}
			texts = append(texts, text{e.Name(), string(content)})
		}
	}
	return texts, nil
}

// allowed are the licences that a release may have, by words that only their text has. The
// first that matches counts.
var allowed = []struct {
	name  string
	words []string
}{
	{"Apache-2.0", []string{"Apache License", "Version 2.0, January 2004"}},
	{"BSD-3-Clause", []string{"Redistribution and use in source and binary forms", "Neither the name"}},
	{"BSD-3-Clause", []string{"Redistribution and use in source and binary forms", "names of its contributors may be used to endorse"}},
	{"BSD-2-Clause", []string{"Redistribution and use in source and binary forms"}},
	{"MIT", []string{"Permission is hereby granted, free of charge", "THE SOFTWARE IS PROVIDED \"AS IS\""}},
	{"ISC", []string{"Permission to use, copy, modify, and/or distribute this software", "provided that the above copyright notice"}},
	{"ISC", []string{"Permission to use, copy, modify, and distribute this software", "provided that the above copyright notice"}},
	{"0BSD", []string{"Permission to use, copy, modify, and/or distribute this software", "with or without fee is hereby granted."}},
}

// refused are words of licences that demand more than their text.
var refused = []string{"GNU GENERAL PUBLIC LICENSE", "GNU LESSER GENERAL", "GNU AFFERO", "Mozilla Public License", "Server Side Public License", "Business Source License", "Commons Clause"}

// license names the licence, by the first text.
func (l *licensed) license() (string, error) {
	if len(l.texts) == 0 || !licenseFile.MatchString(l.texts[0].name) {
		return "", fmt.Errorf("%s %s has no licence text", l.name, l.version)
	}
	plain := strings.Join(strings.Fields(l.texts[0].content), " ")
	for _, words := range refused {
		if strings.Contains(strings.ToLower(plain), strings.ToLower(words)) {
			return "", fmt.Errorf("%s %s has a licence that is not allowed: %s", l.name, l.version, words)
		}
	}
	for _, a := range allowed {
		if !slices.ContainsFunc(a.words, func(w string) bool { return !strings.Contains(plain, w) }) {
			return a.name, nil
		}
	}
	return "", fmt.Errorf("%s %s has a licence that is not on the list of allowed ones", l.name, l.version)
}
