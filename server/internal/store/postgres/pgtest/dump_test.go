package pgtest_test

import (
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
)

// TestDescribe changes one definition after the other: each is seen in the description
// that stands in for a dump, and undoing it brings back the same text.
func TestDescribe(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	exec(t, url, `create table thing (id int primary key, name text); insert into thing values (1, 'swordfish');
		create function touch() returns trigger language plpgsql as 'begin return new; end'`)
	before := pgtest.Describe(t, url, false)
	for change, undo := range map[string]string{
		"alter table thing add extra int default 7":                                                      "alter table thing drop extra",
		"alter table thing alter name set not null":                                                      "alter table thing alter name drop not null",
		"create index thing_name on thing (name)":                                                        "drop index thing_name",
		"alter table thing add constraint short check (name <> '')":                                      "alter table thing drop constraint short",
		"create trigger touch before update on thing for each row execute function touch()":              "drop trigger touch on thing",
		"grant select on thing to public":                                                                "revoke select on thing from public",
		"alter table thing enable row level security":                                                    "alter table thing disable row level security",
		"create view things as select name from thing":                                                   "drop view things",
		"alter function touch() security definer":                                                        "alter function touch() security invoker",
		"create type mood as enum ('good', 'bad')":                                                       "drop type mood",
		"comment on column thing.name is 'said'":                                                         "comment on column thing.name is null",
		"create policy own on thing using (name = current_user)":                                         "drop policy own on thing",
		"create schema other; alter default privileges in schema other grant select on tables to public": "drop schema other cascade",
	} {
		exec(t, url, change)
		if pgtest.Describe(t, url, false) == before {
			t.Errorf("not seen: %s", change)
		}
		exec(t, url, undo)
		if after := pgtest.Describe(t, url, false); strings.Contains(change, "grant select on thing") {
			before = after // an empty list of grants is not the same as none
		} else if after != before {
			t.Errorf("after %s: %s", undo, after)
			before = after
		}
	}
	if got := pgtest.Describe(t, url, true); !strings.Contains(got, "public.thing (1,swordfish)") {
		t.Errorf("no rows: %s", got)
	}
}
