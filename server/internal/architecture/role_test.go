package architecture

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"testing"
)

const (
	apiPackage   = "recoup/server/internal/api"
	storePackage = "recoup/server/internal/store"
)

// changes is how verbs begin that change something. Those of roles that the API holds
// take a store.Act, but for the ones that decide nothing.
var (
	changes = regexp.MustCompile(`^(Add|Append|Apply|Claim|Create|Delete|End|Finish|Import|Purge|Record|Resend|Revoke|Rotate|Save|Set|Switch|Sync|Touch)[A-Z]`)
	plain   = []string{"AddProcessed", "AppendAudit", "TouchKeys"}
)

// TestAPIReadsThroughRoles wants the API to ask a service or a role of package store
// (decision 0071): it never reaches through a service to its store, and what it changes
// without one is an administrative act.
func TestAPIReadsThroughRoles(t *testing.T) {
	for _, complaint := range checkRoles(readTree(t)) {
		t.Error(complaint)
	}
}

func checkRoles(packages []goPackage) (complaints []string) {
	own, roles := interfaces(packages, apiPackage), interfaces(packages, storePackage)
	visit(own, roles, own["Store"], func(verb string, method *ast.FuncType) {
		if method == nil {
			complaints = append(complaints, verb+" is no role of package store: api.Store is made of those alone")
		} else if changes.MatchString(verb) && !slices.Contains(plain, verb) && !takesAct(method) {
			complaints = append(complaints, verb+" changes something and takes no store.Act: the API leaves it to the service that owns the thing")
		}
	})
	eachFile(packages, apiPackage, func(f goFile) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if verb, ok := n.(*ast.SelectorExpr); ok {
				if through, ok := verb.X.(*ast.SelectorExpr); ok && through.Sel.Name == "Store" {
					if _, service := through.X.(*ast.SelectorExpr); service {
						complaints = append(complaints, fmt.Sprintf("%s reaches through a service to its store for %s", f.name, verb.Sel.Name))
					}
				}
			}
			return true
		})
	})
	return complaints
}

// visit calls with every verb of an interface that is made of roles; what is not one of
// those comes without its type.
func visit(own, roles map[string]ast.Expr, from ast.Expr, call func(string, *ast.FuncType)) {
	switch x := from.(type) {
	case *ast.Ident:
		visit(own, roles, own[x.Name], call)
	case *ast.SelectorExpr:
		role, _ := roles[x.Sel.Name].(*ast.InterfaceType)
		if role == nil {
			call(x.Sel.Name, nil)
			return
		}
		for _, m := range role.Methods.List {
			if method, ok := m.Type.(*ast.FuncType); ok {
				call(m.Names[0].Name, method)
			}
		}
	case *ast.InterfaceType:
		for _, m := range x.Methods.List {
			if len(m.Names) > 0 {
				call(m.Names[0].Name, nil)
			} else {
				visit(own, roles, m.Type, call)
			}
		}
	default:
		call("what api.Store embeds", nil)
	}
}

func takesAct(method *ast.FuncType) bool {
	return slices.ContainsFunc(method.Params.List, func(p *ast.Field) bool {
		name, ok := p.Type.(*ast.Ident)
		return ok && name.Name == "Act"
	})
}

func interfaces(packages []goPackage, path string) map[string]ast.Expr {
	found := map[string]ast.Expr{}
	eachFile(packages, path, func(f goFile) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				found[spec.Name.Name] = spec.Type
			}
			return true
		})
	})
	return found
}

// eachFile calls with every file of a package that is not a test.
func eachFile(packages []goPackage, path string, call func(goFile)) {
	for _, pkg := range packages {
		for _, f := range pkg.files {
			if pkg.path == path && !f.test() {
				call(f)
			}
		}
	}
}
