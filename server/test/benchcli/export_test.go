package benchcli

import (
	"bytes"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/test/load"
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

// Shown is how a run of so many clients is shown while it goes on, in a line and on a
// terminal.
func Shown(f *load.Figures, clients, width int) (line, bar string) {
	var said bytes.Buffer
	b := &benchmark{clients: clients, rate: 100}
	b.Err, b.spans.duration = &said, 30*time.Second
	v := &view{benchmark: b}
	bar = v.bar(f, width)
	v.line(f)
	return said.String(), bar
}
