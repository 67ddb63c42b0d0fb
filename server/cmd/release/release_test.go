package main

import (
	"io"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/cli"
)

// Every command has a page, in which nothing is left that man would take for a request.
func TestManual(t *testing.T) {
	t.Parallel()
	commands := all(cli.Root(cli.Streams{Out: io.Discard, Err: io.Discard}))
	if len(commands) < 50 {
		t.Errorf("%d commands", len(commands))
	}
	for _, cmd := range commands {
		text := page(cmd, "v0.1.0")
		for _, section := range []string{".TH \"RECOUP", ".SH NAME\nrecoup", ".SH SYNOPSIS\n.B recoup", ".SH OPTIONS\n.TP\n"} {
			if !strings.Contains(text, section) {
				t.Errorf("%s has no %q:\n%s", pageName(cmd), section, text)
			}
		}
		for line := range strings.Lines(text) {
			request, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			if strings.HasPrefix(request, ".") && !strings.Contains(" .TH .SH .TP .B .BR .PP .nf .fi ", " "+request+" ") {
				t.Errorf("%s: %q is a request", pageName(cmd), line)
			}
		}
	}
}

func TestComponents(t *testing.T) {
	t.Parallel()
	d := components(&debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Path: "example.net/recoup/server"}, Deps: []*debug.Module{
		{Path: "example.net/recoup", Version: "v0.0.0", Replace: &debug.Module{Path: "../"}},
		{Path: "example.org/a", Version: "v1.2.3+incompatible", Sum: "h1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="},
		{Path: "example.org/b", Version: "v1.0.0", Replace: &debug.Module{Path: "example.org/c", Version: "v2.0.0"}},
	}}, "v0.1.0")
	if d.Metadata.Component.Version != "v0.1.0" || len(d.Components) != 3 {
		t.Fatalf("%+v", d)
	}
	if a := d.Components[1]; a.PURL != "pkg:golang/example.org/a@v1.2.3+incompatible" || a.Hashes[0].Content != "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f" {
		t.Errorf("%+v", a)
	}
	if c := d.Components[2]; c.Name != "example.org/c" || c.Version != "v2.0.0" || c.Hashes != nil {
		t.Errorf("%+v", c)
	}
}

// Neither program lists Recoup's own modules as those of others.
func TestForeignModules(t *testing.T) {
	t.Parallel()
	for _, main := range []string{"example.net/recoup/server", "example.net/recoup/server/test"} {
		list := foreign(&debug.BuildInfo{Main: debug.Module{Path: main}, Deps: []*debug.Module{
			{Path: "example.net/recoup"}, {Path: "example.net/recoup/server"}, {Path: "example.net/recoupling"}, {Path: "example.org/a"},
		}})
		if len(list) != 2 || list[0].Path != "example.net/recoupling" || list[1].Path != "example.org/a" {
			t.Errorf("%s: %v", main, list)
		}
	}
}
