package conformance

import (
	"slices"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// What a dialect writes selects the same rows in either database.
func sqlDialect(t *testing.T, db sqldb.DB) {
	list := someParts(6) // those with an odd id have a name, the word, and weight -1
	one, three, five := list[0], list[2], list[4]
	d := db.Dialect()
	begin, end := d.FirstOfEach("name, total", "part", "f", "part_id")
	for name, c := range map[string]struct {
		text string
		args []any
		want []string
	}{
		"locked":          {"select name from part where word <> '' order by name" + d.ForUpdate("no key update skip locked"), nil, []string{one.Name, three.Name, five.Name}},
		"any id":          {"select name from part where part_id" + d.AnyID("$1"), []any{[]recoup.ID{three.ID, {99}}}, []string{three.Name}},
		"no id":           {"select name from part where part_id" + d.AnyID("$1"), []any{[]recoup.ID{}}, nil},
		"any text":        {"select name from part where name" + d.AnyText("$1"), []any{[]string{five.Name, "other"}}, []string{five.Name}},
		"any of a query":  {"select name from part where name" + d.AnyOf("select name from part where word = 'word' order by name desc limit 2") + " order by 1", nil, []string{three.Name, five.Name}},
		"ids":             {"select name from part where part_id in (" + d.SelectIDs("$1") + ")", []any{[]recoup.ID{one.ID}}, []string{one.Name}},
		"rows of texts":   {"select w.word from " + d.TextRows("$1", "w", "word") + " order by 1", []any{[]string{"b", "a"}}, []string{"a", "b"}},
		"first of each":   {"select f.name from " + d.TextRows("$1", "w", "word") + " " + begin + " where f.word = w.word order by name desc limit $2" + end + " order by 1", []any{[]string{"word", "none"}, 2}, []string{three.Name, five.Name}},
		"due":             {"select name from part where made_at <= " + d.Due("$1") + " order by name limit $2", []any{one.Made, 1}, []string{one.Name}},
		"not due":         {"select name from part where made_at <= " + d.Due("$1"), []any{one.Made.Add(-1000)}, nil},
		"bytes of an id":  {"select name from part where substr(" + d.IDBytes("part_id") + ", 14) = $1", []any{three.ID[13:]}, []string{three.Name}},
		"objects":         {"select " + d.JSONObjects("name desc", "name", "weight") + " -> 0 ->> 'name' from part where word <> ''", nil, []string{five.Name}},
		"map":             {"select " + d.JSONMap("name", "word") + " ->> 'name c' from part where word <> ''", nil, []string{"word"}},
		"either":          {"select " + d.Either("'0'::text", "'0'"), nil, []string{"0"}},
		"limit and casts": {`select name collate "C" from part where name = $1::text limit $2`, []any{one.Name, 1}, []string{one.Name}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			err := withParts(t.Context(), db, func(tx sqldb.Tx) error {
				if err := parts.Add(tx, list...); err != nil {
					return err
				}
				return tx.Query(sqldb.NewQuery("", c.text, c.args...), sqldb.Into(&got, []sqldb.Column[string]{sqldb.Text("", func(s *string) *string { return s })}))
			})
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q: %v\n%s", got, c.want, err, c.text)
			}
		})
	}
}
