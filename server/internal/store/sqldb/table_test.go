package sqldb_test

import (
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

type colour string

type thing struct {
	ID      recoup.ID
	Colour  colour
	Made    time.Time
	Weight  int
	Lasts   time.Duration
	Parts   []string
	Counted int64
}

var things = sqldb.Table[thing]{Name: "recoup.thing", Columns: []sqldb.Column[thing]{
	sqldb.ID("thing_id", func(t *thing) *recoup.ID { return &t.ID }).Key(),
	sqldb.Text("colour", func(t *thing) *string { return (*string)(&t.Colour) }).Unique(),
	sqldb.Time("made_at", func(t *thing) *time.Time { return &t.Made }).Fixed(),
	sqldb.Int("weight", func(t *thing) *int { return &t.Weight }),
	sqldb.Micros("lasts_us", func(t *thing) *time.Duration { return &t.Lasts }),
	sqldb.List("parts", func(t *thing) *[]string { return &t.Parts }),
	sqldb.Big("counted", func(t *thing) *int64 { return &t.Counted }).Drawn(),
}}

// Roles say what goes into which statement.
func TestRoles(t *testing.T) {
	t.Parallel()
	key, unique := things.Identity()
	for _, test := range []struct{ name, got, want string }{
		{"all", things.Names("t."), "t.thing_id, t.colour, t.made_at, t.weight, t.lasts_us, t.parts, t.counted"},
		{"written", things.Written().Names(""), "thing_id, colour, made_at, weight, lasts_us, parts"},
		{"changing", things.Changing().Names(""), "thing_id, weight, lasts_us, parts"},
		{"without", things.But("parts", "made_at").Changing().Names(""), "thing_id, weight, lasts_us"},
		{"on conflict", things.Changing().Batch(nil).OnConflict(),
			" on conflict (thing_id) do update set weight = excluded.weight, lasts_us = excluded.lasts_us, parts = excluded.parts"},
	} {
		if test.got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, test.got, test.want)
		}
	}
	if !slices.Equal(key, []string{"thing_id"}) || !slices.Equal(unique, []string{"colour"}) {
		t.Errorf("identity: %v, %v", key, unique)
	}
}

// A batch and an answer reach the rows by their numbers.
func TestBatchAndAnswer(t *testing.T) {
	t.Parallel()
	from := []thing{{Colour: "red", Weight: 1, Lasts: time.Millisecond}, {Colour: "blue", Weight: 2, Parts: []string{"a"}}}
	b := things.Batch(from)
	var to []thing
	a := sqldb.Into(&to, things.Columns)
	for i := range b.Len {
		n := a.Next()
		for c := range b.Columns {
			switch source, sink := &b.Columns[c], &a.Columns[c]; source.Kind {
			case sqldb.KindText:
				*sink.Text(&n) = *source.Text(&i)
			case sqldb.KindInt:
				*sink.Int(&n) = *source.Int(&i)
			case sqldb.KindBig:
				sink.Number(&n).Set(source.Number(&i).Get())
			case sqldb.KindObject:
				value, err := source.Object(&i).Encode()
				if err != nil || sink.Object(&n).Decode(value) != nil {
					t.Fatal(err)
				}
			}
		}
	}
	same := func(a, b thing) bool {
		return a.Colour == b.Colour && a.Weight == b.Weight && a.Lasts == b.Lasts && slices.Equal(a.Parts, b.Parts)
	}
	if !slices.EqualFunc(to, from, same) {
		t.Errorf("got %v, want %v", to, from)
	}
}
