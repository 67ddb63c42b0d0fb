package conformance

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// part is a row with a column of every kind.
type part struct {
	ID     recoup.ID
	Name   string
	Word   string
	Raw    string
	Made   time.Time
	Used   bool
	Weight int
	Spare  int
	Total  int64
	Lasts  time.Duration
	Ratio  float64
	Data   []byte
	Digest [32]byte
	Labels []string
}

var parts = sqldb.NewRepository(sqldb.Table[part]{Name: "part", Columns: []sqldb.Column[part]{
	sqldb.ID("part_id", func(p *part) *recoup.ID { return &p.ID }).Key(),
	sqldb.Text("name", func(p *part) *string { return &p.Name }).Unique(),
	sqldb.Word("word", func(p *part) *string { return &p.Word }),
	sqldb.JSON("raw", func(p *part) *string { return &p.Raw }),
	sqldb.Time("made_at", func(p *part) *time.Time { return &p.Made }),
	sqldb.Bool("used", func(p *part) *bool { return &p.Used }),
	sqldb.Int("weight", func(p *part) *int { return &p.Weight }),
	sqldb.Count("spare", func(p *part) *int { return &p.Spare }),
	sqldb.Big("total", func(p *part) *int64 { return &p.Total }),
	sqldb.Micros("lasts_us", func(p *part) *time.Duration { return &p.Lasts }),
	sqldb.Real("ratio", func(p *part) *float64 { return &p.Ratio }),
	sqldb.Bytes("data", func(p *part) *[]byte { return &p.Data }),
	sqldb.Hash("digest", func(p *part) *[32]byte { return &p.Digest }),
	sqldb.List("labels", func(p *part) *[]string { return &p.Labels }),
}}, "part")

// createParts creates the table of parts for one transaction. Change runs the statement
// at once: PostgreSQL prepares statements of a batch before it runs the first.
func createParts(tx sqldb.Tx) error {
	_, err := tx.Change(tx.Dialect().Either(`create temporary table part (part_id uuid primary key, name text unique, word text not null, raw json,
		made_at timestamptz, used boolean not null, weight integer not null, spare integer, total bigint not null, lasts_us bigint not null,
		ratio double precision not null, data bytea, digest bytea not null, labels jsonb not null) on commit drop`,
		`create temporary table part (part_id blob primary key, name text unique, word text not null, raw text, made_at integer,
		used integer not null, weight integer not null, spare integer, total integer not null, lasts_us integer not null,
		ratio real not null, data blob, digest blob not null, labels text not null)`), nil)
	return err
}

// dropParts drops the table where the commit does not.
func dropParts(tx sqldb.Tx) error {
	return tx.Do(tx.Dialect().Either("select", "drop table part"))
}

// withParts runs a transaction that has an empty table of parts.
func withParts(ctx context.Context, db sqldb.DB, do func(tx sqldb.Tx) error) error {
	return db.Act(ctx, "try parts", time.Time{}, func(tx sqldb.Tx) error {
		return sqldb.InOrder(
			func() error { return createParts(tx) },
			func() error { return do(tx) },
			func() error { return dropParts(tx) },
		)
	})
}

// someParts returns rows of which some have zero values.
func someParts(n int) []part {
	list := make([]part, n)
	for i := range list {
		p := part{ID: recoup.ID{15: byte(i + 1)}, Digest: [32]byte{byte(i)}}
		if i%2 == 0 {
			p.Name, p.Word, p.Raw, p.Made = "name "+string(rune('a'+i)), "word", `{"b":1, "a":2}`, time.Date(2026, 3, 1, 2, 3, 4, 5000, time.UTC)
			p.Used, p.Weight, p.Spare, p.Total, p.Lasts, p.Ratio = true, -1, 7, 1<<40, time.Millisecond, 0.5
			p.Data, p.Labels = []byte{0, 1}, []string{"x", ""}
		}
		list[i] = p
	}
	return list
}

// RunSQL checks the database that a store offers to packages with statements of their
// own.
func RunSQL(t *testing.T, db sqldb.DB, dialect sqldb.Dialect) {
	if got := db.Dialect(); got != dialect {
		t.Errorf("dialect %d, want %d", got, dialect)
	}
	t.Run("copy", func(t *testing.T) { sqlCopy(t, db) })
	t.Run("duplicate", func(t *testing.T) { sqlDuplicate(t, db) })
	t.Run("copy of what is new", func(t *testing.T) { sqlCopyNew(t, db) })
	t.Run("write", func(t *testing.T) { sqlWrite(t, db) })
	t.Run("read", func(t *testing.T) { sqlRead(t, db) })
	t.Run("refusal", func(t *testing.T) { sqlRefusal(t, db) })
	t.Run("dialect", func(t *testing.T) { sqlDialect(t, db) })
}

// A copy writes every kind of column, zero values included.
func sqlCopy(t *testing.T, db sqldb.DB) {
	want := someParts(60) // more than SQLite inserts by one statement
	var got []part
	copied := 0
	err := withParts(t.Context(), db, func(tx sqldb.Tx) (err error) {
		if copied, err = parts.Copy(tx, want); err != nil {
			return err
		}
		got, err = parts.Find(tx, "order by part_id")
		return err
	})
	if err != nil || copied != len(want) || !reflect.DeepEqual(got, want) {
		t.Errorf("copied %d of %d: %v\n got %+v\nwant %+v", copied, len(want), err, got, want)
	}
}

// A copy of a row that exists fails, whether it has the same key or the same name.
func sqlDuplicate(t *testing.T, db sqldb.DB) {
	list := someParts(3)
	for name, second := range map[string]part{"key": {ID: list[0].ID}, "name": {ID: recoup.ID{9}, Name: list[0].Name}} {
		err := withParts(t.Context(), db, func(tx sqldb.Tx) error {
			if _, err := parts.Copy(tx, list); err != nil {
				return err
			}
			_, err := parts.Copy(tx, []part{second})
			return err
		})
		if !errors.Is(err, sqldb.ErrDuplicate) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A copy of what is new skips rows with a key or a name that exists, in the table or
// earlier in the list, and counts the others.
func sqlCopyNew(t *testing.T, db sqldb.DB) {
	want := someParts(130) // several statements on SQLite
	var got []part
	var added []int
	err := withParts(t.Context(), db, func(tx sqldb.Tx) error {
		named := part{ID: recoup.ID{9}, Name: want[0].Name}
		for _, list := range [][]part{want[:7], append(slices.Clone(want), named, want[0]), want[3:4], nil} {
			n, err := parts.CopyNew(tx, list)
			if err != nil {
				return err
			}
			added = append(added, n)
		}
		var err error
		got, err = parts.Find(tx, "order by part_id")
		return err
	})
	if err != nil || !slices.Equal(added, []int{7, 123, 0, 0}) || !reflect.DeepEqual(got, want) {
		t.Errorf("added %v: %v\n got %+v\nwant %+v", added, err, got, want)
	}
}

// The other writes of a repository add, keep, replace, change and delete rows.
func sqlWrite(t *testing.T, db sqldb.DB) {
	list := someParts(4)
	var got []part
	err := withParts(t.Context(), db, func(tx sqldb.Tx) error {
		changed, replaced, other := list[0], list[1], list[0]
		changed.Weight, replaced.Word, other.Word = 5, "new", "not written"
		return sqldb.InOrder(
			func() error { return tx.Acquire(1, true) },
			func() error { return tx.Acquire(2, false) },
			func() error { return parts.Add(tx, list[:3]...) },
			func() error { return isNew(t, tx, other, false) },
			func() error { return isNew(t, tx, list[3], true) },
			func() error { return parts.InsertIgnore(tx, other) },
			func() error { return parts.Update(tx, changed) },
			func() error { return parts.Upsert(tx, replaced) },
			func() error { return parts.Delete(tx, []recoup.ID{list[2].ID, {42}}) },
			func() error {
				n, err := tx.Change("update part set weight = weight + $2 where part_id = $1", []any{list[3].ID, 1}, []any{recoup.ID{42}, 1})
				if n != 1 {
					t.Errorf("%d rows changed", n)
				}
				return err
			},
			func() (err error) {
				got, err = parts.Find(tx, "order by part_id")
				return err
			},
		)
	})
	want := slices.Delete(slices.Clone(list), 2, 3)
	want[0].Weight, want[1].Word, want[2].Weight = 5, "new", list[3].Weight+1
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\n got %+v\nwant %+v", err, got, want)
	}
}

func isNew(t *testing.T, tx sqldb.Tx, p part, want bool) error {
	added, err := parts.InsertNew(tx, p)
	if added != want {
		t.Errorf("inserting %v: %v, want %v", p.ID, added, want)
	}
	return err
}

// Reads and snapshots return rows outside of a transaction, or that there are none.
func sqlRead(t *testing.T, db sqldb.DB) {
	type pair struct {
		id   recoup.ID
		name string
	}
	pairs := sqldb.NewView([]sqldb.Column[pair]{
		sqldb.ID("part_id", func(p *pair) *recoup.ID { return &p.id }),
		sqldb.Text("name", func(p *pair) *string { return &p.name }),
	}, "pair", " from (select $1::uuid as part_id, $2::text as name) p where true")
	want := pair{recoup.ID{7}, "seven"}
	ask := func() *sqldb.Query { return pairs.Select("read a pair", "", want.id, want.name) }

	q := ask()
	q.AnyOf(db.Dialect(), "part_id", []recoup.ID{{6}, want.id})
	q.OneOf(db.Dialect(), "name", []string{"six", want.name})
	if got, err := pairs.Get(t.Context(), db, q, "7"); err != nil || got != want {
		t.Errorf("got %v, want %v: %v", got, want, err)
	}
	q = ask()
	q.Equal("name", "eight")
	if _, err := pairs.Get(t.Context(), db, q, "8"); !errors.Is(err, sqldb.ErrNotFound) || err.Error() != "pair 8: not found" {
		t.Errorf("no pair: %v", err)
	}
	err := db.Snapshot(t.Context(), "read pairs", func(read func(*sqldb.Query, sqldb.Answer) error) error {
		var list []pair
		err := read(ask(), sqldb.Into(&list, pairs.Columns))
		if !slices.Equal(list, []pair{want}) {
			t.Errorf("snapshot: %v", list)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// errUnwanted is a refusal of a decision.
var errUnwanted = errors.New("unwanted")

// A refusal is returned after the commit; an error leaves no result.
func sqlRefusal(t *testing.T, db sqldb.DB) {
	decide := func(refused, failed error) (int, error) {
		return sqldb.DecideOne(t.Context(), db, "refuse", time.Time{}, func(sqldb.Tx) (int, error, error) { return 1, refused, failed })
	}
	if n, err := decide(errUnwanted, nil); n != 1 || !errors.Is(err, errUnwanted) {
		t.Errorf("refused: %d, %v", n, err)
	}
	if n, err := decide(nil, sqldb.ErrNotFound); n != 0 || !errors.Is(err, sqldb.ErrNotFound) {
		t.Errorf("failed: %d, %v", n, err)
	}
	outcomes, err := sqldb.Decide(t.Context(), db, "double", time.Time{}, []int{1, 2},
		func(sqldb.Tx) (int, error) { return 10, nil }, func(w, i int) int { return w * i }, func(sqldb.Tx, int) error { return nil })
	if err != nil || !slices.Equal(outcomes, []int{10, 20}) {
		t.Errorf("decided %v: %v", outcomes, err)
	}
}
