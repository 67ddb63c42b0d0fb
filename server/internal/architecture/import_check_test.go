package architecture

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestImportDirection holds every package to its row.
func TestImportDirection(t *testing.T) {
	for _, complaint := range checkImports(readTree(t), layers) {
		t.Error(complaint)
	}
}

// TestEdgesAreImportedByEdges keeps what speaks to the outside out of what the service
// is made of. A service that needed a converter of the API, or a type that only the wire
// has, would have a second shape of what it works on.
func TestEdgesAreImportedByEdges(t *testing.T) {
	for _, complaint := range checkEdges(readTree(t)) {
		t.Error(complaint)
	}
}

// TestSDKStandsAlone keeps the server, and everything of others, out of the module that other
// programs import.
func TestSDKStandsAlone(t *testing.T) {
	for _, complaint := range checkSDK(readTree(t)) {
		t.Error(complaint)
	}
}

// forTests are the libraries that tests of the SDK may use.
var forTests = []string{"pgregory.net/rapid"}

// checkSDK returns one sentence for each import of a package of the SDK's module that its users
// would have to build, or whose version would become a minimum of theirs.
func checkSDK(packages []goPackage) (complaints []string) {
	for _, pkg := range packages {
		if within(pkg.path, "recoup/server") {
			continue
		}
		for _, file := range pkg.files {
			for _, imported := range file.imports() {
				switch {
				case within(imported, "recoup/server"):
					complaints = append(complaints, fmt.Sprintf("%s imports %s: the SDK knows no server. Move what needs both to the server's module", file.name, imported))
				case within(imported, label), standard(imported), file.test() && slices.Contains(forTests, imported):
				default:
					complaints = append(complaints, fmt.Sprintf(
						"%s imports %s: the SDK imports only itself and the standard library, because each module that it requires becomes a requirement of every program that imports it", file.name, imported))
				}
			}
		}
	}
	return complaints
}

// outward are packages that only some may import, whatever their rows say; and why.
var outward = []struct {
	pkg string
	by  []string
	why string
}{
	{"recoup/server/internal/api", []string{"recoup/server/internal/app", "recoup/server/internal/cli", "recoup/server/cmd/generate"}, "what a service needs of it, the app hands in"},
	{"recoup/server/internal/slices", []string{"recoup/server/internal/cli", "recoup/server/cmd/generate", "recoup/server/internal/test"}, "what is in it comes to a node with its options, and to commands with their streams"},
	{"recoup/client", []string{"recoup/server/internal/admin", "recoup/server/internal/bus/cli", "recoup/server/internal/bus/web", "recoup/server/internal/cli", "recoup/server/internal/gatezero/cli", "recoup/server/internal/console", "recoup/server/internal/test", "recoup/server/test", "recoup/server/examples", "recoup/examples"}, "what goes from the wire to the row is a type of package recoup or wire"},
	{"recoup/server/internal/admin", []string{"recoup/server/internal/bus/web", "recoup/server/internal/cli", "recoup/server/internal/console", "recoup/server/internal/test", "recoup/server/test"}, "all others are asked over HTTP, and do not ask"},
}

// checkEdges returns one sentence for each import of an edge by who may not.
func checkEdges(packages []goPackage) (complaints []string) {
	for _, edge := range outward {
		for _, pkg := range packages {
			if pkg.path == edge.pkg || slices.ContainsFunc(edge.by, func(by string) bool { return within(pkg.path, by) }) {
				continue
			}
			for _, file := range pkg.files {
				if !file.test() && slices.Contains(file.imports(), edge.pkg) {
					complaints = append(complaints, fmt.Sprintf("%s imports %s, which is for %s: %s", file.name, edge.pkg, strings.Join(edge.by, ", "), edge.why))
				}
			}
		}
	}
	return complaints
}

// registered are the folders of slices.
var registered = []string{"recoup/server/internal/adoption", "recoup/server/internal/archive", "recoup/server/internal/bus", "recoup/server/internal/gatezero"}

// TestSlicesStandApart keeps the core from knowing a slice, and slices from knowing each other.
func TestSlicesStandApart(t *testing.T) {
	for _, complaint := range checkSlices(readTree(t), registered) {
		t.Error(complaint)
	}
}

// checkSlices returns one sentence for each import of a slice from outside of it. Only package
// slices names their modules. Benchmarks and tests may import anything.
func checkSlices(packages []goPackage, folders []string) (complaints []string) {
	for _, folder := range folders {
		for _, pkg := range packages {
			if within(pkg.path, folder) || within(pkg.path, "recoup/server/test") {
				continue
			}
			for _, file := range pkg.files {
				for _, imported := range file.imports() {
					module := imported == folder+"/module"
					switch {
					case file.test(), !within(imported, folder), module && pkg.path == "recoup/server/internal/slices":
					case slices.ContainsFunc(folders, func(other string) bool { return within(pkg.path, other) }):
						complaints = append(complaints, fmt.Sprintf("%s imports %s, another slice: slices do not know each other. Move what both need to the core", file.name, imported))
					default:
						complaints = append(complaints, fmt.Sprintf(
							"%s imports %s: the core does not know its slices. Let %s/module register what the core needs, as a field of slice.Slice or slice.Running", file.name, imported, folder))
					}
				}
			}
		}
	}
	return complaints
}

// checkImports returns one sentence for each wrong import and for each package
// without a row.
func checkImports(packages []goPackage, layers []layer) []string {
	var complaints []string
	for _, pkg := range packages {
		at := slices.IndexFunc(layers, func(l layer) bool { return l.pkg == pkg.path })
		for _, file := range pkg.files {
			switch {
			case file.test():
			case at < 0:
				complaints = append(complaints, fmt.Sprintf(
					"package %s has no row in the table of layers: add one that says what it may import, and why", pkg.path))
			default:
				complaints = append(complaints, layers[at].check(file)...)
			}
		}
	}
	return slices.Compact(complaints)
}

func (l layer) check(file goFile) []string {
	var complaints []string
	for _, imported := range file.imports() {
		if !l.allows(imported) {
			complaints = append(complaints, fmt.Sprintf("%s imports %s, which %s may not: %s", file.name, imported, l.pkg, l.why))
		}
	}
	return complaints
}

func (l layer) allows(imported string) bool {
	switch {
	case l.anything:
		return true
	case within(imported, label):
		return slices.Contains(l.imports, imported)
	case standard(imported):
		return true
	}
	return slices.ContainsFunc(l.libraries, func(library string) bool { return within(imported, library) })
}

// standard reports whether a path belongs to the standard library: its first
// element has no dot, as every module that can be fetched has.
func standard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}

// within reports whether a package is the given module or a folder of it.
func within(imported, module string) bool {
	return imported == module || strings.HasPrefix(imported, module+"/")
}
