package sqlite

import "regexp"

// rewriteRules translate a statement that is written for PostgreSQL. There is one
// writer, so locks are left out. The lease d of an error e is in the row of the error. A
// lateral join that picks a few rows of each group becomes a selection of keys. A
// comment, /*by some_idx*/, names the index. A plus hides a limit from the planner, which
// would otherwise prepare the statement for each value. The last five rules are lexical.
var rewriteRules = []struct {
	from *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(` for (no key update|update|share)( of \w+)?( skip locked)?`), ""},
	{regexp.MustCompile(` left join lateral \(select lease_token, [^()]*\) d on true`), ""},
	{regexp.MustCompile(`\b(coalesce\(d\.\w+, |greatest\()(e\.\w+)(, d\.\w+)?\)`), "$2"},
	{regexp.MustCompile(`\bd\.(lease)`), "e.$1"},
	{regexp.MustCompile(`(?s)recoup\.lease l cross join .*? limit 1\) d`), "lease"},
	{regexp.MustCompile(`(?s)cross join lateral \(\s*select \* from (\S+)(.*?)(\swhere .*?\slimit \$\d+)\) (\w+)`), "cross join $1 $4 on $4.rowid in (select rowid from $1$2$3)"},
	{regexp.MustCompile(`(?s)cross join lateral \(\s*select (\w+)(?:, \w+)* from (\S+)(.*?)(\swhere .*?\slimit \$\d+)\) (\w+)`), "cross join $2 $5 on $5.$1 in (select $1 from $2$3$4)"},
	{regexp.MustCompile(`\bunnest\((\$\d+)::text\[\]\) as (\w+) \((\w+)\)`), "(select value as $3 from json_each($1)) $2"},
	{regexp.MustCompile(`left join lateral \(select \* from (\S+ \w+) where (.*?) limit 1\) \w+ on true`), "left join $1 on $2"},
	{regexp.MustCompile(`\bunnest\((\$\d+)::uuid\[\]\)`), "unhex(value) from json_each($1)"},
	{regexp.MustCompile(`\(select coalesce\((\$\d+)::timestamptz, recoup\.clock\(\)\)\)`), "$1"},
	{regexp.MustCompile(`\buuid_send\((\w+)\)`), "$1"},
	{regexp.MustCompile(`\bjson_agg\(`), "json_group_array("},
	{regexp.MustCompile(`\bjson_build_object\(`), "json_object("},
	{regexp.MustCompile(`\bjsonb_object_agg\(`), "json_group_object("},
	{regexp.MustCompile(` = any \((\$\d+)::uuid\[\]\)`), " in (select unhex(value) from json_each($1))"},
	{regexp.MustCompile(` = any \((\$\d+)::text\[\]\)`), " in (select value from json_each($1))"},
	{regexp.MustCompile(` = any \(array\(`), " in (select * from ("},
	{regexp.MustCompile(`/\*by (\w+)\*/`), "indexed by $1"},
	{regexp.MustCompile(`\b(recoup|cl)\.`), ""},
	{regexp.MustCompile(`::\w+| collate "C"| at time zone 'UTC'`), ""},
	{regexp.MustCompile(`\blimit \$`), "limit 0 + $$"},
	{regexp.MustCompile(`\$(\d+)`), "?$1"},
}

// translateSQL translates a statement written for PostgreSQL into SQLite's dialect. It is
// slow: statements are translated when they are prepared.
func translateSQL(text string) string {
	for _, rule := range rewriteRules {
		text = rule.from.ReplaceAllString(text, rule.to)
	}
	return text
}
