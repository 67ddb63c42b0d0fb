package policy_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/test/golden"
)

// TestBadPolicies loads every broken policy and compares what is said of it,
// word by word.
func TestBadPolicies(t *testing.T) {
	files := badFiles(t)
	if len(files) < 35 {
		t.Fatalf("%d broken policies, expected the whole corpus", len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			p, err := policy.Load(filepath.Base(file), read(t, file), fault.Default())
			if p != nil || err == nil {
				t.Fatal("the policy was accepted")
			}
			var refused *policy.LoadError
			if !errors.As(err, &refused) {
				t.Fatalf("the error is a %T, expected *policy.LoadError", err)
			}
			golden.Equal(t, strings.TrimSuffix(file, ".yaml")+".golden", err.Error()+"\n")
		})
	}
}

// TestSmallPolicy proves that the base of the broken policies is not broken.
func TestSmallPolicy(t *testing.T) {
	if _, err := policy.Load("small.yaml", read(t, "testdata/small.yaml"), fault.Default()); err != nil {
		t.Error(err)
	}
}

func badFiles(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
