package adoption_test

import (
	"testing"

	"github.com/recoup-dev/recoup/server/internal/wire"
)

// TestWritersSettings writes rows whose entity is of a type that settings of a session print in different ways. The
// gate is closed for the entity before a node has read the row, whatever these settings are.
func TestWritersSettings(t *testing.T) {
	t.Parallel()
	for name, entity := range map[string]struct{ column, value, settings, text string }{
		"date":      {"date", "'2026-11-19'", "set datestyle = 'German'", "2026-11-19"},
		"timestamp": {"timestamptz", "'2026-11-19 10:00:00+00'", "set timezone = 'Asia/Tokyo'", "2026-11-19 10:00:00+00"},
		"bytea":     {"bytea", `'\x6162'`, "set bytea_output = 'escape'", `\x6162`},
		"float":     {"float8", "0.1::float8 + 0.2::float8", "set extra_float_digits = 0", "0.30000000000000004"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.exec("alter table shop.failures drop column order_id, add column order_id " + entity.column)
			w.adopt(wire.Mapping{Entity: "order_id", Code: "kind"})
			w.settle()
			w.exec(entity.settings + "; insert into shop.failures (order_id, kind) values (" + entity.value + ", 'TIMEOUT')")
			w.want("select recoup.is_blocked('"+entity.text+"')", "true")
			w.settle()
			w.want("select entity_id, blocking from recoup.error", entity.text+" true")
		})
	}
}

// TestWritersStringSyntax writes an adopted table in a session in which backslashes are escapes, before and after a
// column was renamed. The rows are noted.
func TestWritersStringSyntax(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.adopt(wire.Mapping{Entity: "order_id", Code: "kind"})
	w.settle()
	w.exec("set standard_conforming_strings = off; set escape_string_warning = off; insert into shop.failures (order_id, kind) values ('o1', 'TIMEOUT')")
	w.exec("alter table shop.failures rename column order_id to o; insert into shop.failures (o, kind) values ('o2', 'TIMEOUT'); reset standard_conforming_strings")
	w.want("select recoup.is_blocked('o1'), recoup.is_blocked('o2')", "true true")
}
