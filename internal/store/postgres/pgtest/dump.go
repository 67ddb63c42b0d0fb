package pgtest

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// Dump returns a database as SQL, without owners and grants.
func Dump(t testing.TB, url string) string {
	t.Helper()
	found, err := findPrograms()
	if err != nil {
		t.Fatal(err)
	}
	server, err := filepath.EvalSymlinks(found.postgres)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(filepath.Dir(server), "pg_dump")
	out, err := exec.CommandContext(t.Context(), program, "--inserts", "--no-owner", "--no-privileges", url).Output()
	if err != nil {
		t.Fatalf("pg_dump: %v", err)
	}
	return string(out)
}
