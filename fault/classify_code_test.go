package fault_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
)

// Every code that classification can answer with must be registered, or its
// verdict would be that of UNREGISTERED_CODE.
func TestClassificationUsesRegisteredCodes(t *testing.T) {
	constants := map[string]recoup.Code{}
	ast.Inspect(parse(t, "code_gen.go"), func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		literal, ok := spec.Values[0].(*ast.BasicLit)
		if !ok {
			t.Fatalf("%s is no literal", spec.Names[0].Name)
		}
		value, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		constants[spec.Names[0].Name] = recoup.Code(value)
		return false
	})
	used := 0
	for _, file := range []string{"classify.go", "classify_net.go", "classify_sql.go", "classify_http.go", "category.go", "verdict.go", "call.go", "problem.go"} {
		ast.Inspect(parse(t, file), func(n ast.Node) bool {
			ident, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			if code, ok := constants[ident.Name]; ok {
				used++
				if _, registered := fault.Default().Lookup(code); !registered {
					t.Errorf("%s uses %s, which is not registered", file, code)
				}
			}
			return true
		})
	}
	if used < 80 {
		t.Errorf("only %d uses of codes were found: the test looks in the wrong place", used)
	}
}

func parse(t *testing.T, file string) *ast.File {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// The request policies are written down twice, as data here and as code in
// package retry, which must not depend on the registry.
func TestRequestPoliciesAgreeWithTheRegistry(t *testing.T) {
	for _, def := range fault.Default().All() {
		want := def.RetryPolicy(true)
		if want.Fatal && def.Retry == nil {
			continue // its class forbids retries, whatever the policy says
		}
		got := retry.Request(def.Code)
		if got.MaxRetries != want.MaxAttempts || got.Schedule.Base != want.BaseDelay() ||
			got.Schedule.Cap != want.MaxDelay() || got.Schedule.Multiplier != want.BackoffMultiplier {
			t.Errorf("%s: package retry has %+v, the registry %+v", def.Code, got, want)
		}
	}
	if fault.DefaultRetryPolicy().MaxDelay() != 300*time.Second {
		t.Error("the default cap is not that of spec 001")
	}
}
