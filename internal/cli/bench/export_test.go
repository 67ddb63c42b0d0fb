package bench

import (
	"bytes"
	"testing"

	"recoup/internal/cli/command"
)

// Roles are who may do an operation beside admin, for the test that compares them with
// what the API says.
func Roles() map[string][]string {
	list := map[string][]string{"clean": cleaners}
	for _, op := range operations {
		list[op.name] = op.roles
	}
	return list
}

// Text is a result in a file, as people see it.
func Text(t *testing.T, file string, width int) string {
	t.Helper()
	var r result
	if err := read(file, &r); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	r.say(&command.Session{Streams: command.Streams{Out: &out, Width: width}})
	return out.String()
}
