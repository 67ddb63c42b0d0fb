package store_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

func clock(text string) time.Time {
	t, err := time.Parse("15:04:05.999999", text)
	if err != nil {
		panic(err)
	}
	return t.AddDate(2026, 0, 0)
}

func TestHours(t *testing.T) {
	for _, test := range []struct{ from, to, whole string }{
		{"09:00:00", "12:00:00", "09:00:00 12:00:00"},
		{"09:00:00.000001", "12:00:00", "10:00:00 12:00:00"},
		{"09:00:00", "11:59:59.999999", "09:00:00 11:00:00"},
		{"09:30:00", "12:30:00", "10:00:00 12:00:00"},
		{"09:30:00", "10:30:00", ""},
		{"09:10:00", "09:20:00", ""},
		{"09:59:59.999999", "10:00:00.000001", ""},
		{"09:00:00", "09:00:00", ""},
		{"09:30:00", "09:30:00", ""},
	} {
		head, whole, tail := store.Span{From: clock(test.from), To: clock(test.to)}.Hours()
		got := ""
		if whole.From.Before(whole.To) {
			got = whole.From.Format(time.TimeOnly) + " " + whole.To.Format(time.TimeOnly)
		}
		if got != test.whole {
			t.Errorf("%s to %s has the whole hours %q, want %q, between %v and %v", test.from, test.to, got, test.whole, head, tail)
		}
	}
}

// Every moment of a span is in exactly one of its parts, and no other is in any.
func TestHoursCoverTheSpan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		moment := func(what string) time.Time {
			return clock("00:00:00").Add(time.Duration(rapid.IntRange(0, 4*60).Draw(t, what)) * time.Minute)
		}
		span := store.Span{From: moment("from"), To: moment("to")}
		if span.To.Before(span.From) {
			span.From, span.To = span.To, span.From
		}
		head, whole, tail := span.Hours()
		at, n := moment("at"), 0
		in := func(s store.Span) bool { return !at.Before(s.From) && at.Before(s.To) }
		for _, part := range []store.Span{head, whole, tail} {
			if in(part) {
				n++
			}
		}
		if want := map[bool]int{true: 1}[in(span)]; n != want {
			t.Errorf("%v is in %d parts of %v, want %d: %v %v %v", at, n, span, want, head, whole, tail)
		}
	})
}

func TestSteps(t *testing.T) {
	span := store.Span{From: clock("00:00:00"), To: clock("12:00:00")}
	at := func(hours ...int) (list []store.Event) {
		for _, h := range hours {
			list = append(list, store.Event{Event: recoup.Event{TS: span.From.Add(time.Duration(h) * time.Hour)}})
		}
		return list
	}
	for _, test := range []struct {
		hours   []int
		sizes   []int
		refused bool
	}{
		{nil, nil, false},
		{[]int{0, 1}, []int{2}, false},
		{[]int{0, 1, 2}, []int{3}, false},
		{[]int{0, 1, 2, 3, 4, 5, 11}, []int{3, 3, 1}, false},
		{[]int{0, 1, 2, 12, 3}, []int{3}, true},
		{[]int{-1}, nil, true},
	} {
		var sizes []int
		var refused bool
		for chunk, err := range store.Chunks(span, slices.Values(at(test.hours...)), 3) {
			if err == nil {
				sizes = append(sizes, len(chunk))
			}
			refused = refused || errors.Is(err, store.ErrRefused)
		}
		if !slices.Equal(sizes, test.sizes) || refused != test.refused {
			t.Errorf("%v: steps of %v, refused %v, want %v, %v", test.hours, sizes, refused, test.sizes, test.refused)
		}
	}
	for range store.Chunks(span, slices.Values(at(0, 1, 2, 3)), 1) {
		break // and no chunk comes after it
	}
}

func TestDetails(t *testing.T) {
	kept := map[string]any{"retryable": true, "limit": int64(-3), "window_sec": int64(1) << 62, "field": "größe<>"}
	got, err := store.DecodeDetails(store.EncodeDetails(kept))
	if err != nil || !reflect.DeepEqual(got, kept) {
		t.Errorf("%v comes back as %v, %v", kept, got, err)
	}
	if b := store.EncodeDetails(map[string]any{}); b != nil {
		t.Errorf("no details are %s", b)
	}
	if b := store.EncodeDetails(map[string]any{"limit": func() {}}); string(b) != "null" {
		t.Errorf("what cannot be kept is %s", b)
	}
	if _, err := store.DecodeDetails([]byte("{")); err == nil {
		t.Error("half an object is read")
	}
}
