package recoup_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup"
)

func TestParseID(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"UUID", "0190f5fe-7c00-7a3b-8c4d-112233445566", "0190f5fe-7c00-7a3b-8c4d-112233445566"},
		{"UUID in capitals", "0190F5FE-7C00-7A3B-8C4D-112233445566", "0190f5fe-7c00-7a3b-8c4d-112233445566"},
		{"ULID of spec 003", "01JAH8ZJ0Z8Z0N7M1X6JZ8QW0T", "0192a28f-c81f-47c1-53d0-3d34be8bf01a"},
		{"ULID in lower case", "01jah8zj0z8z0n7m1x6jz8qw0t", "0192a28f-c81f-47c1-53d0-3d34be8bf01a"},
		{"smallest ULID above zero", "00000000000000000000000001", "00000000-0000-0000-0000-000000000001"},
		{"largest ULID", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "ffffffff-ffff-ffff-ffff-ffffffffffff"},
	} {
		t.Run(row.name, func(t *testing.T) {
			id, err := recoup.ParseID(row.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := id.String(); got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
}

func TestParseIDRefuses(t *testing.T) {
	for _, text := range []string{
		"", "x", "0190f5fe7c007a3b8c4d112233445566", "0190f5fe-7c00-7a3b-8c4d-11223344556g",
		"0190f5fe+7c00-7a3b-8c4d-112233445566", "8ZZZZZZZZZZZZZZZZZZZZZZZZZ", // above 128 bits
		"01JAH8ZJ0Z8Z0N7M1X6JZ8QW0U", "{190f5fe-7c00-7a3b-8c4d-11223344556}",
	} {
		if id, err := recoup.ParseID(text); !errors.Is(err, recoup.ErrBadID) {
			t.Errorf("%q: got %v, %v", text, id, err)
		}
	}
}

func TestTimeOf(t *testing.T) {
	at := time.Date(2026, 2, 2, 3, 4, 5, 678e6, time.UTC)
	made := recoup.NewIDSource(rand.Reader).New(at)
	for _, row := range []struct {
		text string
		want time.Time
		ok   bool
	}{
		{made.String(), at, true},
		{"01JAH8ZJ0Z8Z0N7M1X6JZ8QW0T", time.UnixMilli(0x0192a28fc81f).UTC(), true},
		{"0190f5fe-7c00-4a3b-8c4d-112233445566", time.Time{}, false}, // version 4
		{"nothing", time.Time{}, false},
	} {
		if got, ok := recoup.TimeOf(row.text); ok != row.ok || !got.Equal(row.want) {
			t.Errorf("%s: got %v, %v; want %v, %v", row.text, got, ok, row.want, row.ok)
		}
	}
}

// Ids of one source sort as they were made, whatever the clock does.
func TestIDSourceIsMonotonic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		source := recoup.NewIDSource(rand.Reader)
		now := time.UnixMilli(1_700_000_000_000)
		var last recoup.ID
		for range 200 {
			now = now.Add(time.Duration(rapid.Int64Range(-3e6, 3e6).Draw(t, "step")))
			id := source.New(now)
			if bytes.Compare(last[:], id[:]) >= 0 {
				t.Fatalf("%s came after %s", id, last)
			}
			if id[6]>>4 != 7 || id[8]>>6 != 2 {
				t.Fatalf("%s is not a UUIDv7", id)
			}
			last = id
		}
	})
}

// A time that an id cannot hold leaves no trace in the ids that follow.
func TestIDSourceSurvivesImpossibleTimes(t *testing.T) {
	now := time.Date(2026, 2, 2, 3, 4, 5, 678e6, time.UTC)
	for name, odd := range map[string]time.Time{
		"zero": {}, "before 1970": time.UnixMilli(-1), "beyond 48 bits": time.UnixMilli(1 << 48), "beyond 64 bits": time.Unix(1<<64/1000+4e9, 0),
	} {
		source := recoup.NewIDSource(rand.Reader)
		first, between, last := source.New(odd), source.New(odd), source.New(now)
		after := source.New(odd)
		for i, pair := range [][2]recoup.ID{{first, between}, {between, last}, {last, after}} {
			if bytes.Compare(pair[0][:], pair[1][:]) >= 0 {
				t.Errorf("%s: %s came after %s (%d)", name, pair[1], pair[0], i)
			}
		}
		for id, want := range map[recoup.ID]time.Time{first: time.UnixMilli(0).UTC(), last: now, after: now} {
			if got, ok := recoup.TimeOf(id.String()); !ok || !got.Equal(want) {
				t.Errorf("%s: %s carries %v, want %v", name, id, got, want)
			}
		}
	}
	end := time.UnixMilli(1<<48/1000*1000 - 1).UTC()
	if got, ok := recoup.TimeOf(recoup.NewIDSource(rand.Reader).New(end).String()); !ok || !got.Equal(end) {
		t.Errorf("the last time that fits is carried as %v", got)
	}
}

func TestIDSourceIsSafeForConcurrentUse(t *testing.T) {
	source, out := recoup.NewIDSource(rand.Reader), make(chan recoup.ID)
	for range 8 {
		go func() {
			for range 100 {
				out <- source.New(time.UnixMilli(1))
			}
		}()
	}
	var seen []recoup.ID
	for range 800 {
		seen = append(seen, <-out)
	}
	slices.SortFunc(seen, func(a, b recoup.ID) int { return bytes.Compare(a[:], b[:]) })
	if unique := slices.Compact(slices.Clone(seen)); len(unique) != 800 {
		t.Errorf("%d ids are not unique", 800-len(unique))
	}
}

func TestIDInJSON(t *testing.T) {
	var v struct {
		A recoup.ID `json:"a"`
		B recoup.ID `json:"b,omitzero"`
	}
	if err := json.Unmarshal([]byte(`{"a":"01JAH8ZJ0Z8Z0N7M1X6JZ8QW0T","b":""}`), &v); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(v)
	if want := `{"a":"0192a28f-c81f-47c1-53d0-3d34be8bf01a"}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
	if err := json.Unmarshal([]byte(`{"a":"x"}`), &v); !errors.Is(err, recoup.ErrBadID) {
		t.Errorf("bad id: %v", err)
	}
}
