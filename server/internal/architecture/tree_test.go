// Package architecture holds no code. Its tests read the source tree and hold it
// to the rules of docs/architecture.md: which package may import which, who may
// read the clock, what every package and file owes its reader.
package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module = "recoup"
	root   = "../../.."
)

// goPackage is one folder of Go files.
type goPackage struct {
	path  string // its import path
	files []goFile
}

// goFile is one parsed Go file.
type goFile struct {
	name  string // relative to the root of the module
	lines int
	ast   *ast.File
}

func (f goFile) test() bool { return strings.HasSuffix(f.name, "_test.go") }

// imports lists the import paths of the file.
func (f goFile) imports() []string {
	var paths []string
	for _, spec := range f.ast.Imports {
		unquoted, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			panic(err) // the parser accepts nothing else
		}
		paths = append(paths, unquoted)
	}
	return paths
}

// readTree parses every Go file of the module, tests included.
func readTree(t *testing.T) []goPackage {
	t.Helper()
	folders := map[string][]goFile{}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && foreign(name):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		source, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		file, err := parseFile(name, string(source))
		if err != nil {
			return err
		}
		folders[path.Dir(name)] = append(folders[path.Dir(name)], file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var packages []goPackage
	for folder, files := range folders {
		packages = append(packages, goPackage{path: path.Join(module, folder), files: files})
	}
	slices.SortFunc(packages, func(a, b goPackage) int { return strings.Compare(a.path, b.path) })
	return packages
}

func parseFile(name, source string) (goFile, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ParseComments|parser.SkipObjectResolution)
	return goFile{name: name, lines: strings.Count(source, "\n"), ast: parsed}, err
}

// foreign reports whether a folder is no part of the module: what the go command
// passes over, and modules of their own.
func foreign(name string) bool {
	base := path.Base(name)
	if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" || base == "node_modules" {
		return true
	}
	_, err := os.Stat(filepath.Join(root, name, "go.mod"))
	return err == nil
}
