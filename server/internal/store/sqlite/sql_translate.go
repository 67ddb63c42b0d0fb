package sqlite

import "regexp"

// rewriteRules translate the words of a statement that is written for PostgreSQL. What
// differs in structure, [sqldb.Dialect] writes. A comment, /*by some_idx*/, names the
// index. A plus hides a limit from the planner, which would otherwise prepare the
// statement for each value.
var rewriteRules = []struct {
	from *regexp.Regexp
	to   string
}{
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
