package store_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func TestBidsForLeadership(t *testing.T) {
	now := time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)
	until, later, absurd := now.Add(time.Minute), now.Add(2*time.Minute), now.Add(2*time.Minute+1)
	for _, row := range []struct {
		name string
		last store.Term
		want store.Term
		held bool
	}{
		{"nobody has led", store.Term{Name: "x"}, store.Term{Name: "x", Number: 1, Holder: "n", Until: until}, true},
		{"the last one has resigned", store.Term{Name: "x", Number: 4}, store.Term{Name: "x", Number: 5, Holder: "n", Until: until}, true},
		{"another leads", store.Term{Name: "x", Number: 4, Holder: "m", Until: later}, store.Term{Name: "x", Number: 4, Holder: "m", Until: later}, false},
		{"another led until now", store.Term{Name: "x", Number: 4, Holder: "m", Until: now}, store.Term{Name: "x", Number: 5, Holder: "n", Until: until}, true},
		{"it leads", store.Term{Name: "x", Number: 4, Holder: "n", Until: later}, store.Term{Name: "x", Number: 4, Holder: "n", Until: until}, true},
		{"another leads for ever, by a clock that was wrong", store.Term{Name: "x", Number: 4, Holder: "m", Until: absurd}, store.Term{Name: "x", Number: 5, Holder: "n", Until: until}, true},
		{"it led until now", store.Term{Name: "x", Number: 4, Holder: "n", Until: now}, store.Term{Name: "x", Number: 5, Holder: "n", Until: until}, true},
	} {
		if got, held := row.last.Bid(store.Bid{Name: "x", Node: "n", Now: now, Tenure: time.Minute}); got != row.want || held != row.held {
			t.Errorf("%s: %+v, %v, want %+v, %v", row.name, got, held, row.want, row.held)
		}
	}
}

func TestKeysAreValidUntilTheirEnd(t *testing.T) {
	now := time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		key  wire.Key
		want bool
	}{
		{wire.Key{}, true},
		{wire.Key{ExpiresAt: now.Add(1)}, true},
		{wire.Key{ExpiresAt: now}, false},
		{wire.Key{ExpiresAt: now.Add(time.Hour), RevokedAt: now.Add(-time.Hour)}, false},
		{wire.Key{ExpiresAt: now.Add(time.Hour), RotatedTo: recoup.ID{1}}, true},
	} {
		if got := row.key.Valid(now); got != row.want {
			t.Errorf("%+v is valid: %v", row.key, got)
		}
	}
}

func TestMinutesOfASpan(t *testing.T) {
	at := func(s string) time.Time {
		parsed, err := time.Parse("15:04:05.999999", s)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	for _, row := range []struct{ from, to, first, end string }{
		{"09:00:00", "10:00:00", "09:00:00", "10:00:00"},
		{"09:00:00.000001", "10:00:00.000001", "09:01:00", "10:01:00"},
		{"09:00:59", "09:01:00", "09:01:00", "09:01:00"},
		{"09:00:01", "09:00:02", "09:01:00", "09:01:00"},
	} {
		got := store.Span{From: at(row.from), To: at(row.to)}.Minutes()
		if !got.From.Equal(at(row.first)) || !got.To.Equal(at(row.end)) {
			t.Errorf("%s to %s: %v, want %s to %s", row.from, row.to, got, row.first, row.end)
		}
	}
}

func TestJSONIsItself(t *testing.T) {
	type page struct {
		Body recoup.JSON `json:"body"`
		None recoup.JSON `json:"none"`
	}
	b, err := json.Marshal(page{Body: `{"a":[1,null]}`})
	if err != nil || string(b) != `{"body":{"a":[1,null]},"none":null}` {
		t.Errorf("%s, %v", b, err)
	}
	var back page
	if err := json.Unmarshal(b, &back); err != nil || back != (page{Body: `{"a":[1,null]}`}) {
		t.Errorf("%+v, %v", back, err)
	}
	if recoup.EncodeJSON(nil) != "" || recoup.EncodeJSON(map[string]any{"a": func() {}}).Check() == nil || recoup.JSON("").Check() != nil {
		t.Error("what cannot be JSON is accepted, or nothing is not")
	}
}
