package architecture

import (
	"fmt"
	"go/ast"
	"regexp"
	"testing"
)

// wireTag is a tag of a field that goes over the wire.
var wireTag = regexp.MustCompile("[`\" ](json|query):\"")

// TestClientDeclaresNoJSON keeps the types of the wire in the packages that the server shares:
// recoup for public calls, and wire for those of administrators.
func TestClientDeclaresNoJSON(t *testing.T) {
	for _, complaint := range checkClientTypes(readTree(t)) {
		t.Error(complaint)
	}
}

func checkClientTypes(packages []goPackage) (complaints []string) {
	for _, pkg := range packages {
		if pkg.path != "recoup/client" {
			continue
		}
		for _, file := range pkg.files {
			if file.test() {
				continue
			}
			ast.Inspect(file.ast, func(n ast.Node) bool {
				if f, ok := n.(*ast.Field); ok && f.Tag != nil && wireTag.MatchString(f.Tag.Value) {
					complaints = append(complaints, fmt.Sprintf("%s declares a JSON type, with the tag %s: it belongs into package recoup", file.name, f.Tag.Value))
				}
				return true
			})
		}
	}
	return complaints
}
