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
	"sync"
	"testing"
)

const (
	// label stands for the path of the SDK's module in import paths, so that the tables here
	// stay as they are when scripts/module-path changes it.
	label = "recoup"
	root  = "../../.."
)

// modulePath is the path of the module in root.
var modulePath = sync.OnceValue(func() string {
	file, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		panic(err) // the tree has one
	}
	_, after, _ := strings.Cut(string(file), "module ")
	path, _, _ := strings.Cut(after, "\n")
	return path
})

// labelled shortens the import path of a package of this tree.
func labelled(imported string) string {
	if within(imported, modulePath()) {
		return label + strings.TrimPrefix(imported, modulePath())
	}
	return imported
}

// goPackage is one folder of Go files.
type goPackage struct {
	path  string // its import path, with the label for the SDK's module
	files []goFile
}

// goFile is one parsed Go file.
type goFile struct {
	name  string // relative to the root of the tree
	lines int
	ast   *ast.File
}

func (f goFile) test() bool { return strings.HasSuffix(f.name, "_test.go") }

// imports lists the import paths of the file, with the label for the SDK's module.
func (f goFile) imports() []string {
	var paths []string
	for _, spec := range f.ast.Imports {
		unquoted, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			panic(err) // the parser accepts nothing else
		}
		paths = append(paths, labelled(unquoted))
	}
	return paths
}

// readTree parses every Go file of the modules that go.work joins, tests included.
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
		packages = append(packages, goPackage{path: path.Join(label, folder), files: files})
	}
	slices.SortFunc(packages, func(a, b goPackage) int { return strings.Compare(a.path, b.path) })
	return packages
}

func parseFile(name, source string) (goFile, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ParseComments|parser.SkipObjectResolution)
	return goFile{name: name, lines: strings.Count(source, "\n"), ast: parsed}, err
}

// foreign reports whether a folder is no part of the product: what the go command
// passes over, and the modules of tools, which go.work leaves out.
func foreign(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" || base == "node_modules" || name == "tools"
}
