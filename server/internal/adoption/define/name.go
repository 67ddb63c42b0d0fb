package define

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

var plainName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// quote writes a name in SQL, in quotation marks if it needs them. Characters that a terminal
// would act on are written as escapes.
func quote(parts ...string) string {
	quoted := make([]string, len(parts))
	for i, part := range parts {
		switch {
		case strings.ContainsFunc(part, isControl):
			quoted[i] = `U&"` + escape(strings.NewReplacer(`"`, `""`, `\`, `\\`).Replace(part), `\%04X`, `\+%06X`) + `"`
		case !plainName.MatchString(part) || slices.Contains(keywords, part):
			quoted[i] = `"` + strings.ReplaceAll(part, `"`, `""`) + `"`
		default:
			quoted[i] = part
		}
	}
	return strings.Join(quoted, ".")
}

// parseName splits the name of a table, with or without its schema, as SQL reads it: what is not in
// quotation marks is folded to lower case.
func parseName(name string) (parts []string, ok bool) {
	for rest := strings.TrimSpace(name); ; rest = rest[1:] {
		part := namePart.FindString(rest)
		if part == "" || len(parts) == 2 {
			return nil, false
		}
		rest = rest[len(part):]
		part = strings.TrimSpace(part)
		if inner, quoted := strings.CutPrefix(part, `"`); quoted {
			part = strings.ReplaceAll(strings.TrimSuffix(inner, `"`), `""`, `"`)
		} else {
			part = foldCase(part)
		}
		if parts = append(parts, part); rest == "" {
			return parts, true
		}
		if rest[0] != '.' {
			return nil, false
		}
	}
}

// namePart is a part of a name at the beginning of a text, with the blanks around it.
var namePart = regexp.MustCompile(`^\s*(?:"(?:[^"]|"")+"|[\pL_\x{80}-\x{10FFFF}][\pL0-9_$\x{80}-\x{10FFFF}]*)\s*`)

// foldCase folds a name as PostgreSQL does: letters of ASCII only.
func foldCase(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

// literal writes a string in SQL.
func literal(s string) string {
	text := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if strings.Contains(s, `\`) || strings.ContainsFunc(s, isControl) {
		return "E" + escape(strings.ReplaceAll(text, `\`, `\\`), `\u%04X`, `\U%08X`)
	}
	return text
}

// isControl reports whether a terminal would act on a character, or change the order of others.
func isControl(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// escape writes control characters in a format, those beyond four digits in another.
func escape(s, short, long string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case !isControl(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			fmt.Fprintf(&b, long, r)
		default:
			fmt.Fprintf(&b, short, r)
		}
	}
	return b.String()
}

// keywords are the words that are no names by themselves, of every PostgreSQL to date.
var keywords = strings.Fields(`
all analyse analyze and any array as asc asymmetric authorization between bigint binary bit boolean both case cast char character
check coalesce collate collation column concurrently constraint create cross current_catalog current_date current_role
current_schema current_time current_timestamp current_user dec decimal default deferrable desc distinct do else end except exists
extract false fetch float for foreign freeze from full grant greatest group grouping having ilike in initially inner inout int
integer intersect interval into is isnull join json json_array json_arrayagg json_exists json_object json_objectagg json_query
json_scalar json_serialize json_table json_value lateral leading least left like limit localtime localtimestamp merge_action
national natural nchar none normalize not notnull null nullif numeric offset on only or order out outer overlaps overlay placing
position precision primary real references returning right row select session_user setof similar smallint some substring symmetric
system_user table tablesample then time timestamp to trailing treat trim true union unique user using values varchar variadic
verbose when where window with xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot
xmlserialize xmltable`)
