package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What is linked into this test and embedded in the console has its text and a licence that
// is allowed.
func TestLicenses(t *testing.T) {
	t.Parallel()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := writeLicenses(&b, []string{own}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\nGo standard library go1.", "\nhtmx 2.0.10 (0BSD)\n", "\ngithub.com/jackc/pgx/v5 v5.", "\nmodernc.org/sqlite v1.", "LICENSE-SQLITE\n",
		"\ngithub.com/prometheus/client_golang v1.", "NOTICE\n", "\ngithub.com/spf13/cobra v1.",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing", want)
		}
	}
	deps, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", "../../internal/cli").Output() // which this test links
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(string(deps)) {
		if !strings.Contains(b.String(), "\n"+path+" v") {
			t.Errorf("%s is linked and not listed", path)
		}
	}
}

// The version that is named for the console's script is the one that is embedded.
func TestEmbeddedVersion(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("../../internal/console/static/htmx.js")
	if err != nil || !strings.Contains(string(script), `version:"2.0.10"`) {
		t.Errorf("htmx is another version: change it in license.go, and its licence in embedded (%v)", err)
	}
}

func TestRefusedLicenses(t *testing.T) {
	t.Parallel()
	const bsd = "Redistribution and use in source and binary forms"
	for _, row := range []struct {
		file, content, want string
	}{
		{"", "", "x v1 has no licence text"},
		{"NOTICE", bsd, "x v1 has no licence text"},
		{"LICENSE", "All rights reserved.", "not on the list"},
		{"COPYING", "GNU GENERAL PUBLIC\nLICENSE Version 3", "not allowed: GNU GENERAL PUBLIC LICENSE"},
		{"LICENSE", "Mozilla Public License Version 2.0 " + bsd, "not allowed: Mozilla Public License"},
		{"LICENSE.md", bsd, ""},
	} {
		folder := t.TempDir()
		if row.file != "" {
			if err := os.WriteFile(filepath.Join(folder, row.file), []byte(row.content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		texts, err := readTexts(folder)
		if err != nil {
			t.Fatal(err)
		}
		l := licensed{"x", "v1", texts}
		if _, err := l.license(); (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q", row.file, err, row.want)
		}
	}
}
