// Package clitest runs commands for tests: alone, or against a node in the test's
// own process.
package clitest

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/cli"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/test/golden"
)

// Run executes a command line and returns what it printed.
func Run(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	r := execute(t.Context(), args, command.Streams{})
	return r.Out, r.Err, r.Status
}

// Result is what a command printed and how it ended.
type Result struct {
	Out, Err string
	Status   int
}

func execute(ctx context.Context, args []string, s command.Streams) Result {
	var out, stderr bytes.Buffer
	s.Out, s.Err = &out, &stderr
	if s.In == nil {
		s.In = new(bytes.Buffer)
	}
	status := cli.Run(ctx, args, s)
	return Result{out.String(), stderr.String(), status}
}

// Golden compares got with a file in testdata, which -update rewrites.
func Golden(t *testing.T, name, got string) {
	t.Helper()
	golden.Equal(t, filepath.Join("testdata", name), got)
}

// Parse reads JSON that a command printed.
func Parse(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, text)
	}
}

// Typed is a terminal on which somebody types an answer.
func Typed(answer string) command.Streams {
	return command.Streams{In: bytes.NewBufferString(answer), Interactive: true, Terminal: true}
}

// Stub is a server that answers every request in the same way.
func Stub(t *testing.T, answer http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return s
}

// Edited writes the default policy with changes to a file: pairs of a text and what
// takes its place.
func Edited(t *testing.T, changes ...string) string {
	t.Helper()
	text := string(policy.DefaultFile())
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(text, changes[i]) {
			t.Fatalf("the default policy does not contain %q", changes[i])
		}
		text = strings.Replace(text, changes[i], changes[i+1], 1)
	}
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
