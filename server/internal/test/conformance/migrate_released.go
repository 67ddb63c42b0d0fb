package conformance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// Release is what is kept of a version: its migrations by their checksums, a database
// that it made, as SQL, and what the store answered about that.
type Release struct {
	Migrations, Database, Answers string
}

// Released are the folders of released versions, beside the store's tests. A release
// adds one (make record-release); nobody changes one.
const released = "testdata/released"

// RunReleased holds a store to what was released: no migration of any version has
// changed, and a database of each is migrated and answers as it did. next is the
// version that would be released now, with a row in every table; so there is always
// one to try. With RECOUP_RELEASE it is recorded under that name.
func RunReleased(t *testing.T, steps store.Migrations, next Release, restore func(t *testing.T, database string) Whole, slices ...Filler) {
	t.Helper()
	next.Migrations = sums(steps)
	all := map[string]Release{"next": next}
	folders, err := os.ReadDir(released)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, f := range folders {
		all[f.Name()] = readRelease(t, f.Name())
	}
	if version := os.Getenv("RECOUP_RELEASE"); version != "" {
		writeRelease(t, version, next)
	}
	for version, r := range all {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			if bad := changed(r.Migrations, steps); bad != "" {
				t.Fatalf("migration %s was released with %s and is another now: what is released never changes, add a migration", bad, version)
			}
			wantAnswers(t, Snapshot(t, restore(t, r.Database), slices...), r.Answers)
		})
	}
	if bad := changed(strings.Replace(next.Migrations, "a", "b", 1), steps); bad == "" {
		t.Error("a migration that was changed is not found")
	}
}

// sums lists migrations with their checksums.
func sums(steps store.Migrations) (text string) {
	for _, m := range steps {
		text += fmt.Sprintf("%s  %03d_%s.sql\n", m.Sum, m.Version, m.Name)
	}
	return text
}

// changed names the first released migration that is not there any more as it was.
func changed(released string, steps store.Migrations) string {
	present := sums(steps)
	for line := range strings.Lines(released) {
		if !strings.Contains(present, line) {
			return strings.Fields(line)[1]
		}
	}
	return ""
}

// wantAnswers says that a store must answer what it did, and may answer more: a later
// version knows more of the same row.
func wantAnswers(t *testing.T, got, want string) {
	t.Helper()
	was, is := bufio.NewScanner(strings.NewReader(want)), bufio.NewScanner(strings.NewReader(got))
	was.Buffer(nil, 1<<24)
	is.Buffer(nil, 1<<24)
	for was.Scan() {
		if !is.Scan() {
			t.Fatalf("nothing is answered where it was %s", was.Text())
		}
		_, before, _ := strings.Cut(was.Text(), "\t")
		_, after, _ := strings.Cut(is.Text(), "\t")
		var old, now any
		if json.Unmarshal([]byte(before), &old) != nil || json.Unmarshal([]byte(after), &now) != nil || !includes(now, old) {
			t.Errorf("answers\n%s\nwas\n%s", is.Text(), was.Text())
		}
	}
}

// includes reports whether a value of JSON has all that another has.
func includes(has, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		object, ok := has.(map[string]any)
		for key, value := range want {
			ok = ok && includes(object[key], value)
		}
		return ok
	case []any:
		list, ok := has.([]any)
		ok = ok && len(list) == len(want)
		for i := 0; ok && i < len(want); i++ {
			ok = includes(list[i], want[i])
		}
		return ok
	}
	return reflect.DeepEqual(has, want)
}

func readRelease(t *testing.T, version string) (r Release) {
	t.Helper()
	for name, into := range r.files() {
		text, err := os.ReadFile(filepath.Join(released, version, name))
		if err != nil {
			t.Fatal(err)
		}
		*into = string(text)
	}
	return r
}

func writeRelease(t *testing.T, version string, r Release) {
	t.Helper()
	folder := filepath.Join(released, version)
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err) // a version is released once
	}
	for name, from := range r.files() {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(*from), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func (r *Release) files() map[string]*string {
	return map[string]*string{"migrations.sum": &r.Migrations, "database.sql": &r.Database, "answers.txt": &r.Answers}
}
