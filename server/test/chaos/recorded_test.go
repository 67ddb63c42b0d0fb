package chaos

import (
	"os"
	"testing"
)

// TestRecorded checks a run once more that was recorded: a second and a half of chaos on
// SQLite, of whose repeated failures one is left, or the run that RECOUP_CHAOS_RECORD
// names, without the endings of its two files.
func TestRecorded(t *testing.T) {
	name := os.Getenv("RECOUP_CHAOS_RECORD")
	if name == "" {
		name = "testdata/good"
	}
	r := readRecord(t, name)
	found := Check(r.history, &r.final)
	for i, v := range found {
		if i < 20 {
			t.Error(Excerpt(v, r.history, &r.final))
		}
	}
	if len(found) > 20 {
		t.Errorf("and %d more", len(found)-20)
	}
}

func readRecord(t *testing.T, name string) *record {
	t.Helper()
	history, err := os.Open(name + ".ndjson")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = history.Close() }()
	end, err := os.Open(name + ".final.json")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = end.Close() }()
	list, err := ReadHistory(history)
	if err != nil {
		t.Fatal(err)
	}
	final, err := ReadFinal(end)
	if err != nil {
		t.Fatal(err)
	}
	return &record{list, *final}
}
