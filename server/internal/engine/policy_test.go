package engine_test

import (
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/policy"
)

// edited returns the default policy with words of its file replaced, as another
// version.
func edited(t testing.TB, version string, pairs ...string) *policy.Policy {
	t.Helper()
	file := strings.Replace(string(policy.DefaultFile()), "version: 1.0.0", "version: "+version, 1)
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(file, pairs[i]) {
			t.Fatalf("the default policy has no %q", pairs[i])
		}
		file = strings.Replace(file, pairs[i], pairs[i+1], 1)
	}
	p, err := policy.Load(version+".yaml", []byte(file), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// tableText is what the default policy says of a table.
func tableText(table string) string {
	file := string(policy.DefaultFile())
	begin := strings.Index(file, "\n  "+table+":\n")
	return file[begin : begin+1+strings.Index(file[begin+1:], "\n\n")]
}

// without returns the default policy as it is once a table has left it, version
// 2.0.0.
func without(t testing.TB, table string) *policy.Policy {
	t.Helper()
	drop := []string{tableText(table), ""}
	if table == target {
		drop = append(drop, "tables: ["+target+"]\n", "tables: ["+discovery+"]\n")
	}
	return edited(t, "2.0.0", drop...)
}
