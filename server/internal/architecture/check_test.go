package architecture

import (
	"slices"
	"strings"
	"testing"
)

// TestChecksCatch feeds each check a small tree that breaks its rule, beside one
// that keeps it: a check that cannot fail proves nothing.
func TestChecksCatch(t *testing.T) {
	rows := []layer{
		{pkg: "recoup", why: "it is the bottom"},
		{pkg: "recoup/retry", imports: []string{"recoup"}, libraries: []string{"example.com/lib"}, why: "it is public"},
	}
	imports := func(packages []goPackage) []string { return checkImports(packages, rows) }
	clockWhy := "only the command line and the running node use the real clock, and pass the time down"
	slicesOf := func(folders ...string) func([]goPackage) []string {
		return func(packages []goPackage) []string { return checkSlices(packages, folders) }
	}
	bottom := source{"recoup/recoup.go", "// Package recoup is the bottom.\npackage recoup"}
	roles := source{"recoup/server/internal/store/role.go", `package store; type KeyReader interface { Keys() }; type KeyWriter interface { AddKey(a Act) }; type Queue interface { AddWork() error }`}

	for _, test := range []struct {
		name  string
		check func([]goPackage) []string
		tree  []source
		want  []string
	}{
		{"allowed imports", imports,
			[]source{bottom, {"recoup/retry/a.go", `package retry; import ("time"; "recoup"; "example.com/lib/sub")`}}, nil},
		{"wrong direction", imports,
			[]source{{"recoup/recoup.go", `package recoup; import "recoup/retry"`}, {"recoup/retry/a.go", "package retry"}},
			[]string{"recoup/recoup.go imports recoup/retry, which recoup may not: it is the bottom"}},
		{"unknown library", imports,
			[]source{bottom, {"recoup/retry/a.go", `package retry; import "example.com/library"`}},
			[]string{"recoup/retry/a.go imports example.com/library, which recoup/retry may not: it is public"}},
		{"a test's import", imports,
			[]source{bottom, {"recoup/retry/a_test.go", `package retry; import "example.com/other"`}}, nil},
		{"a package without a row", imports,
			[]source{bottom, {"recoup/retry/a.go", "package retry"}, {"recoup/extra/a.go", "package extra"}, {"recoup/extra/b.go", "package extra"}},
			[]string{"package recoup/extra has no row in the table of layers: add one that says what it may import, and why"}},

		{"an edge at an edge", checkEdges, []source{{"recoup/server/internal/app/a.go", `package app; import "recoup/server/internal/api"`}}, nil},
		{"an edge below", checkEdges, []source{{"recoup/server/internal/push/a.go", `package push; import "recoup/server/internal/api"`}},
			[]string{"recoup/server/internal/push/a.go imports recoup/server/internal/api, which is for recoup/server/internal/app, recoup/server/internal/cli, recoup/server/cmd/generate: what a service needs of it, the app hands in"}},

		{"a slice in its place", slicesOf("recoup/server/internal/samples", "recoup/server/internal/others"), []source{
			{"recoup/server/internal/samples/web/a.go", `package web; import "recoup/server/internal/samples"`},
			{"recoup/server/internal/slices/a.go", `package slices; import "recoup/server/internal/samples/module"`},
			{"recoup/server/internal/store/sqlite/a_test.go", `package sqlite; import "recoup/server/internal/samples/samplestest"`},
			{"recoup/server/internal/samplesdesk/a.go", `package samplesdesk`},
		}, nil},
		{"a slice in the core", slicesOf("recoup/server/internal/samples"), []source{{"recoup/server/internal/app/a.go", `package app; import "recoup/server/internal/samples"`}},
			[]string{"recoup/server/internal/app/a.go imports recoup/server/internal/samples: the core does not know its slices. Let recoup/server/internal/samples/module register what the core needs, as a field of slice.Slice or slice.Running"}},
		{"a module beside the list", slicesOf("recoup/server/internal/samples"), []source{{"recoup/server/internal/cli/a.go", `package cli; import "recoup/server/internal/samples/module"`},
			{"recoup/server/internal/slices/a.go", `package slices; import "recoup/server/internal/samples"`}},
			[]string{
				"recoup/server/internal/cli/a.go imports recoup/server/internal/samples/module: the core does not know its slices. Let recoup/server/internal/samples/module register what the core needs, as a field of slice.Slice or slice.Running",
				"recoup/server/internal/slices/a.go imports recoup/server/internal/samples: the core does not know its slices. Let recoup/server/internal/samples/module register what the core needs, as a field of slice.Slice or slice.Running",
			}},
		{"a slice in another", slicesOf("recoup/server/internal/samples", "recoup/server/internal/others"), []source{{"recoup/server/internal/others/web/a.go", `package web; import "recoup/server/internal/samples"`}},
			[]string{"recoup/server/internal/others/web/a.go imports recoup/server/internal/samples, another slice: slices do not know each other. Move what both need to the core"}},

		{"an SDK of its own", checkSDK,
			[]source{bottom, {"recoup/retry/a.go", `package retry; import ("time"; "recoup")`}, {"recoup/retry/a_test.go", `package retry; import "pgregory.net/rapid"`},
				{"recoup/server/internal/app/a.go", `package app; import "example.com/lib"`}}, nil},
		{"an SDK with a library", checkSDK, []source{{"recoup/client/a.go", `package client; import "example.com/lib"`}},
			[]string{"recoup/client/a.go imports example.com/lib: the SDK imports only itself and the standard library, because each module that it requires becomes a requirement of every program that imports it"}},
		{"an SDK's test with a server", checkSDK, []source{{"recoup/client/a_test.go", `package client; import "recoup/server/internal/app"`}},
			[]string{"recoup/client/a_test.go imports recoup/server/internal/app: the SDK knows no server. Move what needs both to the server's module"}},

		{"a client without JSON", checkClientTypes, []source{{"recoup/client/a.go", "package client; type Page struct { Limit int }"}, {"recoup/client/a_test.go", "package client; type x struct { N int `json:\"n\"` }"}}, nil},
		{"a client with JSON", checkClientTypes, []source{{"recoup/client/a.go", "package client; type Page struct { Next string `doc:\"x\" json:\"next\"` }"}},
			[]string{"recoup/client/a.go declares a JSON type, with the tag `doc:\"x\" json:\"next\"`: it belongs into package recoup"}},

		{"roles", checkRoles, []source{roles, {"recoup/server/internal/api/a.go", `package api; import "recoup/server/internal/store"; type Store interface { store.KeyReader; Desk }; type Desk interface { store.KeyWriter }; var x = a.Store.Keys()`}}, nil},
		{"not roles", checkRoles,
			[]source{roles, {"recoup/server/internal/api/a.go", `package api; import "recoup/server/internal/store"; type Store interface { store.Queue; Look() }; var x = a.Letters.Store.Look()`}},
			[]string{
				"AddWork changes something and takes no store.Act: the API leaves it to the service that owns the thing",
				"Look is no role of package store: api.Store is made of those alone",
				"recoup/server/internal/api/a.go reaches through a service to its store for Look",
			}},

		{"documented", checkPackageComments, []source{bottom}, nil},
		{"undocumented", checkPackageComments, []source{{"recoup/retry/a.go", "// Retry.\npackage retry"}},
			[]string{"package recoup/retry has no doc comment that says what it is for and what it must not know"}},
		{"command", checkPackageComments, []source{{"recoup/server/cmd/tool/main.go", "// Command tool runs.\npackage main"}}, nil},

		{"short", checkLengths, []source{{"recoup/a.go", "package recoup" + strings.Repeat("\n", 500)}}, nil},
		{"long", checkLengths, []source{{"recoup/a.go", "package recoup" + strings.Repeat("\n", 501)}},
			[]string{"recoup/a.go has 501 lines, more than 500: it holds more than one thing"}},
		{"long and generated", checkLengths,
			[]source{{"recoup/a.go", "// Code generated by x. DO NOT EDIT.\n\npackage recoup" + strings.Repeat("\n", 600)}}, nil},

		{"clock", checkClock, []source{{"recoup/a.go", `package recoup; import "time"; var now = time.Now()`}},
			[]string{"recoup/a.go calls time.Now: " + clockWhy}},
		{"clock in a test", checkClock, []source{{"recoup/a_test.go", `package recoup; import "time"; func f() { time.Sleep(1) }`}},
			[]string{"recoup/a_test.go calls time.Sleep: " + clockWhy}},
		{"clock in a bubble", checkClock,
			[]source{{"recoup/a_test.go", `package recoup; import ("time"; "testing/synctest"); func f() { time.Sleep(1); synctest.Wait() }`}}, nil},
		{"clock under another name", checkClock, []source{{"recoup/a.go", `package recoup; import t "time"; var d = t.Since(t.Time{})`}},
			[]string{"recoup/a.go calls time.Since: " + clockWhy}},
		{"clock as a value", checkClock, []source{{"recoup/a.go", `package recoup; import "time"; var now = time.Now`}}, nil},
		{"another Now", checkClock, []source{{"recoup/a.go", `package recoup; import "time"; var d time.Duration; var x = clock.Now()`}}, nil},
		{"clock at the edge", checkClock, []source{{"recoup/server/internal/cli/a.go", `package cli; import "time"; var now = time.Now()`}}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.check(tree(t, test.tree)); !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

type source struct{ name, text string }

// tree parses sources into packages, one for each folder in order.
func tree(t *testing.T, sources []source) []goPackage {
	t.Helper()
	var packages []goPackage
	for _, s := range sources {
		file, err := parseFile(s.name, s.text)
		if err != nil {
			t.Fatal(err)
		}
		folder := s.name[:strings.LastIndex(s.name, "/")]
		if n := len(packages); n == 0 || packages[n-1].path != folder {
			packages = append(packages, goPackage{path: folder})
		}
		last := &packages[len(packages)-1]
		last.files = append(last.files, file)
	}
	return packages
}
