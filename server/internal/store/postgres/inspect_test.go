package postgres_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/golden"
)

// The manifest, by which a schema is known to have drifted, is what the migrations make:
// after a change of theirs it is rewritten with -update.
func TestManifest(t *testing.T) {
	owner, app := pgtest.Migrated(t)
	pgtest.HoldToClock(t, owner)
	for _, url := range []string{owner, app} {
		facts, err := pgtest.OpenURL(t, url).Inspect(t.Context(), store.Inspection{})
		if err != nil {
			t.Fatal(err)
		}
		if len(facts.Unseen) > 0 {
			t.Errorf("not all could be seen: %v", facts.Unseen)
		}
		golden.Equal(t, "schema.manifest", manifest(facts.Present))
	}
}

// manifest writes objects as the manifest has them.
func manifest(objects []store.Object) string {
	var text strings.Builder
	for _, o := range slices.SortedFunc(slices.Values(objects), func(a, b store.Object) int {
		return strings.Compare(a.Kind+"\t"+a.Name, b.Kind+"\t"+b.Name)
	}) {
		text.WriteString(o.Kind + "\t" + o.Name + "\t" + o.Definition + "\n")
	}
	return text.String()
}

// Privileges of other roles are listed, on partitions too, and default privileges that grant new
// objects to them. What Recoup grants is not.
func TestInspectOtherGrants(t *testing.T) {
	t.Parallel()
	s, owner, _ := governed(t)
	name := "other_" + owner.Config().Database
	owner.run("select recoup.create_partition('error_event', '2026-02-01')")
	inspect := func() (list []string) {
		facts, err := s.Inspect(t.Context(), store.Inspection{})
		must(t, err)
		for _, g := range facts.Server.OtherGrants {
			list = append(list, fmt.Sprintf("%s %s %s %v", g.Role, g.Kind, g.On, g.Privileges))
		}
		for _, g := range facts.Server.DefaultGrants {
			list = append(list, fmt.Sprintf("%s %s: %s", g.Role, g.On, g.Revoke))
		}
		return list
	}
	if got := inspect(); got != nil {
		t.Errorf("found %q before", got)
	}
	owner.run(strings.ReplaceAll(`create role NAME; grant usage on schema recoup to NAME; grant select, insert on recoup.api_key to NAME; grant select (code) on recoup.error to NAME;
		grant insert on recoup.error_event_y2026m02 to NAME; grant execute on function recoup.turn_work() to NAME; alter default privileges in schema recoup grant insert on tables to NAME`, "NAME", name))
	want := strings.Split(strings.ReplaceAll("NAME function recoup.turn_work() [execute]|NAME schema recoup [usage]|NAME table recoup.api_key [insert select]|NAME table recoup.error [select]|"+
		"NAME table recoup.error_event_y2026m02 [insert]|NAME tables in schema recoup: alter default privileges for role recoup_owner in schema recoup revoke all on tables from NAME", "NAME", name), "|")
	if got := inspect(); !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}
