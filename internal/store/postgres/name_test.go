package postgres_test

import (
	"strings"

	"recoup"
)

// The tables of spec 000 that the tests use.
const (
	dol       = "outreach.dol_errors"
	people    = "people.people_errors"
	discovery = "company.url_discovery_failures"
	errorLog  = "public.shq_error_log"
	masterLog = "public.shq_master_error_log"
	letters   = "pipeline.dead_letters"
)

// placeholders puts ids into plain SQL.
type placeholders map[string]recoup.ID

func (p placeholders) Replace(sql string) string {
	for name, id := range p {
		sql = strings.ReplaceAll(sql, name, "'"+id.String()+"'")
	}
	return sql
}
