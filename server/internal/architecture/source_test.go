package architecture

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"
)

// maxLines is the length from which on a file is better read as two.
const maxLines = 500

// edges are the packages that may use the real clock: they stand where a person or
// the operating system calls, and pass the time down. Benchmarks measure by it.
var edges = []string{"recoup/server/cmd", "recoup/server/internal/app", "recoup/server/internal/cli", "recoup/server/test/bench"}

// clockFunctions are the functions of package time that read the clock or wait
// for it.
var clockFunctions = []string{"Now", "Since", "Until", "Sleep"}

// TestPackagesAreDocumented wants a doc comment in exactly the form godoc reads.
func TestPackagesAreDocumented(t *testing.T) {
	for _, complaint := range checkPackageComments(readTree(t)) {
		t.Error(complaint)
	}
}

// TestFilesAreShort wants files that can be read in one go.
func TestFilesAreShort(t *testing.T) {
	for _, complaint := range checkLengths(readTree(t)) {
		t.Error(complaint)
	}
}

// TestClockIsAParameter wants time to come in as a parameter everywhere below
// the edges, so that a year of policy runs in seconds in a test. Naming time.Now
// as the value of such a parameter is how a constructor offers the real clock;
// calling it is what takes the choice away. Tests call it in a bubble of
// testing/synctest, whose clock they turn themselves.
func TestClockIsAParameter(t *testing.T) {
	for _, complaint := range checkClock(readTree(t)) {
		t.Error(complaint)
	}
}

func checkPackageComments(packages []goPackage) []string {
	var complaints []string
	for _, pkg := range packages {
		documented := slices.ContainsFunc(pkg.files, func(f goFile) bool {
			opening := "Package " + f.ast.Name.Name + " "
			if f.ast.Name.Name == "main" {
				opening = "Command " + path.Base(pkg.path) + " "
			}
			return strings.HasPrefix(f.ast.Doc.Text(), opening)
		})
		if !documented {
			complaints = append(complaints, fmt.Sprintf(
				"package %s has no doc comment that says what it is for and what it must not know", pkg.path))
		}
	}
	return complaints
}

func checkLengths(packages []goPackage) []string {
	var complaints []string
	for _, pkg := range packages {
		for _, file := range pkg.files {
			if file.lines > maxLines && !ast.IsGenerated(file.ast) {
				complaints = append(complaints, fmt.Sprintf(
					"%s has %d lines, more than %d: it holds more than one thing", file.name, file.lines, maxLines))
			}
		}
	}
	return complaints
}

func checkClock(packages []goPackage) []string {
	var complaints []string
	for _, pkg := range packages {
		if slices.ContainsFunc(edges, func(edge string) bool { return within(pkg.path, edge) }) {
			continue
		}
		for _, file := range pkg.files {
			if importedAs(file, "testing/synctest") != "" {
				continue
			}
			for _, name := range clockCalls(file) {
				complaints = append(complaints, fmt.Sprintf(
					"%s calls %s: only the command line and the running node use the real clock, and pass the time down", file.name, name))
			}
		}
	}
	return complaints
}

// clockCalls lists a file's calls of functions of package time that depend on
// the real clock, whatever name the file gives the package.
func clockCalls(file goFile) []string {
	local := importedAs(file, "time")
	var calls []string
	ast.Inspect(file.ast, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok {
			return true
		}
		function, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		from, ok := function.X.(*ast.Ident)
		if ok && local != "" && from.Name == local && slices.Contains(clockFunctions, function.Sel.Name) {
			calls = append(calls, "time."+function.Sel.Name)
		}
		return true
	})
	return calls
}

// importedAs returns the name by which a file knows an imported package, or "".
func importedAs(file goFile, imported string) string {
	at := slices.Index(file.imports(), imported)
	switch {
	case at < 0:
		return ""
	case file.ast.Imports[at].Name != nil:
		return file.ast.Imports[at].Name.Name
	}
	return path.Base(imported)
}
