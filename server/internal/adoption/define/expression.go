package define

import (
	"fmt"
	"slices"
	"strings"

	"github.com/recoup-dev/recoup/server/internal/adoption/preset"
)

// The types of columns that are read without a word. Every other type is read as
// its text.
const (
	typeJSON      = "json"
	typeJSONB     = "jsonb"
	typeTimestamp = "timestamp without time zone"
	typeInstant   = "timestamp with time zone"
	typeDate      = "date"
)

// textual is a column of a row as text.
func textual(row string, c Column) string {
	reference := c.in(row)
	if c.path != "" {
		return "(" + reference + ")"
	}
	if c.Base == typeJSON || c.Base == typeJSONB {
		return "(" + reference + " #>> '{}')"
	}
	return reference + "::text"
}

// keyText is the key of a row s: of one column its text, of several a JSON array of
// their texts.
func (a *Adoption) keyText() string {
	key := a.key()
	if len(key) == 1 {
		return "s." + quote(key[0].Name) + "::text"
	}
	parts := make([]string, len(key))
	for i, c := range key {
		parts[i] = "s." + quote(c.Name) + "::text"
	}
	return "jsonb_build_array(" + strings.Join(parts, ", ") + ")::text"
}

// keyNoted is the column of recoup.adopted_change that keys are written into. Making text
// of numbers and uuids would cost writers a twentieth of their time.
func (a *Adoption) keyNoted() string {
	key := a.key()
	switch {
	case len(key) == 1 && slices.Contains([]string{"bigint", "integer", "smallint"}, key[0].Base):
		return "numbers"
	case len(key) == 1 && key[0].Base == "uuid":
		return "uuids"
	}
	return "keys"
}

// noted is the key of a row s as a trigger writes it down.
func (a *Adoption) noted() string {
	switch reference := "s." + quote(a.key()[0].Name); a.keyNoted() {
	case "numbers":
		return reference + "::bigint"
	case "uuids":
		return reference + "::uuid"
	}
	return a.keyText()
}

// keyParts are the typed values of a key's text.
func (a *Adoption) keyParts(text string) []string {
	key := a.key()
	if len(key) == 1 {
		return []string{text + "::" + key[0].Base}
	}
	parts := make([]string, len(key))
	for i, c := range key {
		parts[i] = fmt.Sprintf("(%s::jsonb ->> %d)::%s", text, i, c.Base)
	}
	return parts
}

// keyColumns are the columns of the key of a row of the source, which is s.
func (a *Adoption) keyColumns() []string {
	key := a.key()
	names := make([]string, len(key))
	for i, c := range key {
		names[i] = "s." + quote(c.Name)
	}
	return names
}

// stableText are settings under which the text of every key and of every entity is always the same:
// writers have settings of their own. Types whose text no setting changes need none.
func (a *Adoption) stableText() string {
	plain := func(c Column) bool {
		return slices.Contains([]string{"bigint", "integer", "smallint", "uuid", "text", "character varying", "bpchar", "numeric", "boolean"}, c.Base) || c.Kind == "e"
	}
	columns := a.key()
	if c, ok := a.mapped(a.Mapping.Entity); ok && c.path == "" && c.Base != typeJSON && c.Base != typeJSONB {
		columns = append(slices.Clone(columns), c)
	}
	if !slices.ContainsFunc(columns, func(c Column) bool { return !plain(c) }) {
		return ""
	}
	return "\nset timezone = 'UTC' set datestyle = 'ISO, YMD' set intervalstyle = 'postgres' set bytea_output = 'hex' set extra_float_digits = 1 set lc_monetary = 'C'"
}

// mapped is a mapped column, if there is one, or a place in one.
func (a *Adoption) mapped(name string) (Column, bool) {
	if name == "" {
		return Column{}, false
	}
	return a.Source.field(name)
}

// entity is what cannot go on; an empty one is none.
func (a *Adoption) entity(row string) string {
	c, ok := a.mapped(a.Mapping.Entity)
	if !ok {
		return "null::text"
	}
	return "nullif(btrim(" + textual(row, c) + "), '')"
}

// namesEntities reports whether a row names an entity.
func (a *Adoption) namesEntities() bool {
	_, ok := a.mapped(a.Mapping.Entity)
	return ok
}

// named is the entity of a row as a trigger hashes it: in the composed form of Unicode (NFC), in
// which the gate asks for it. The gate never asks for the hash of an empty one. The check for ASCII
// comes first because most entities are; only databases in UTF-8 can normalize.
func (a *Adoption) named(row string) string {
	c, ok := a.mapped(a.Mapping.Entity)
	if !ok {
		return "null::text"
	}
	text := "btrim(" + textual(row, c) + ")"
	if c.Category == "N" || c.Base == "uuid" {
		return text // always ASCII
	}
	return fmt.Sprintf("case when octet_length(%[1]s) = length(%[1]s) or getdatabaseencoding() <> 'UTF8' then %[1]s else normalize(%[1]s) end", text)
}

// code is what stands in the column. A node makes a code of it, because only what is
// as it was written can be told from a secret.
func (a *Adoption) code() string {
	c, ok := a.mapped(a.Mapping.Code)
	otherwise := "null"
	if a.Mapping.CodeValue != "" {
		otherwise = literal(a.Mapping.CodeValue)
	}
	if !ok {
		return otherwise + "::text"
	}
	return "coalesce(nullif(btrim(" + textual("s", c) + "), ''), " + otherwise + ")::text"
}

func (a *Adoption) message() string {
	c, ok := a.mapped(a.Mapping.Message)
	if !ok {
		return "null::text"
	}
	return textual("s", c)
}

// lastSeen changes when a row fails again, if a column says so.
func (a *Adoption) lastSeen() string {
	c, ok := a.mapped(a.Mapping.LastSeen)
	if !ok {
		return "null::text"
	}
	return textual("s", c)
}

// severity knows the words that people use; what it does not know is the code's.
func (a *Adoption) severity() string {
	c, ok := a.mapped(a.Mapping.Severity)
	if !ok || c.Category == "N" {
		return "null::text"
	}
	word := "upper(btrim(" + textual("s", c) + `) collate "C")`
	list := []string{"case"}
	for _, level := range []struct{ severity, words string }{
		{"CRITICAL", "'CRITICAL', 'FATAL', 'EMERGENCY', 'PANIC'"},
		{"HIGH", "'HIGH', 'ERROR', 'MAJOR'"},
		{"MEDIUM", "'MEDIUM', 'WARNING', 'WARN', 'MODERATE'"},
		{"LOW", "'LOW', 'INFO', 'NOTICE', 'MINOR', 'DEBUG'"},
	} {
		list = append(list, fmt.Sprintf("when %s in (%s) then '%s'", word, level.words, level.severity))
	}
	return strings.Join(append(list, "end"), "\n        ")
}

// createdAt is when the row's failure happened. What is no time is none, and the
// error is as old as its report. Numbers are seconds, milliseconds or microseconds
// since 1970, by their size.
func (a *Adoption) createdAt() string {
	c, ok := a.mapped(a.Mapping.CreatedAt)
	if !ok {
		return "null::timestamptz"
	}
	at := c.in("s")
	switch {
	case c.Base == typeInstant:
		return "case when isfinite(" + at + ") then " + at + " end"
	case c.Base == typeTimestamp:
		return "case when isfinite(" + at + ") then " + at + " at time zone " + literal(a.zone()) + " end"
	case c.Base == typeDate:
		return "case when isfinite(" + at + ") then " + at + "::timestamp at time zone " + literal(a.zone()) + " end"
	case c.Category == "N":
		return fmt.Sprintf(`case when abs(%[1]s) < 100000000000 then to_timestamp(%[1]s::float8)
      when abs(%[1]s) < 100000000000000 then to_timestamp(%[1]s::float8 / 1000)
      when abs(%[1]s) < 100000000000000000 then to_timestamp(%[1]s::float8 / 1000000) end`, at)
	}
	return "recoup." + a.name("time") + "(" + textual("s", c) + ")"
}

// readsTimes reports whether times have to be read from text.
func (a *Adoption) readsTimes() bool { return strings.HasPrefix(a.createdAt(), "recoup.") }

// everyRow is the condition of a source of which every row is a failure.
const everyRow = "true"

// governed is whether a row is a failure that is not over.
func (a *Adoption) governed() string {
	var parts []string
	if a.Conditions.Governed != "" {
		parts = append(parts, "("+a.Conditions.Governed+") is true")
	}
	if a.Conditions.Resolved != "" {
		parts = append(parts, "("+a.Conditions.Resolved+") is not true")
	}
	if len(parts) == 0 {
		return everyRow
	}
	return strings.Join(parts, " and ")
}

// underway is whether a row is being worked at.
func (a *Adoption) underway() string {
	if a.Conditions.Underway == "" {
		return "false"
	}
	return "(" + a.Conditions.Underway + ") is true"
}

// pipeline and stage are the queue that a job is in and of what kind it is, for the dead
// letter that it may become.
func (a *Adoption) pipeline() string {
	return a.ofJob(func(p *preset.Preset) string { return p.Pipeline })
}
func (a *Adoption) stage() string { return a.ofJob(func(p *preset.Preset) string { return p.Stage }) }

// ofJob is what a preset says of jobs, as text: a column, or an expression in which
// SCHEMA stands for that of the source.
func (a *Adoption) ofJob(say func(*preset.Preset) string) string {
	if a.Preset == nil || say(a.Preset) == "" {
		return "null::text"
	}
	said := say(a.Preset)
	if c, ok := a.Source.Column(said); ok {
		return textual("s", c)
	}
	return strings.ReplaceAll(said, "SCHEMA", quote(a.Source.Schema))
}

// watch is a part of a row whose change is worth another look, as something that can be
// compared.
type watch struct{ expression, collation string }

// watched are the parts of a row whose change is worth another look. Where triggers see
// failures alone, no condition's columns are among them.
func (a *Adoption) watched(row string) (list []watch) {
	const byBytes = ` collate "C"`
	m := a.Mapping
	names := []string{m.Code, m.Message, m.Severity, m.CreatedAt, m.LastSeen}
	for _, name := range names {
		if c, ok := a.mapped(name); ok && c.path != "" {
			list = append(list, watch{textual(row, c), byBytes})
		}
	}
	for _, c := range a.Source.Columns {
		if slices.Contains(names, c.Name) || !a.Conditions.Safe && slices.Contains(a.Conditions.Columns, c.Name) {
			w := watch{row + "." + quote(c.Name), ""}
			if c.Category != "N" && c.Category != "B" && c.Category != "D" {
				w = watch{w.expression + "::text", byBytes}
			}
			list = append(list, w)
		}
	}
	return list
}
