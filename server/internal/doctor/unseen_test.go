package doctor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/doctor"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Facts that could not be read are one finding, and nothing is derived from their absence.
func TestUnseen(t *testing.T) {
	t.Parallel()
	table := store.Object{Kind: store.ObjectTable, Name: "recoup.error", Definition: "r"}
	trigger := store.Object{Kind: store.ObjectTrigger, Name: "forbidden on recoup.error", Definition: "CREATE TRIGGER forbidden"}
	grant := store.Object{Kind: store.ObjectGrant, Name: "recoup_app on recoup.error", Definition: "select"}
	for name, c := range map[string]struct {
		in       *doctor.Input
		what     string
		severity wire.FindingSeverity
		evidence string
	}{
		"the schema of a server, but its privileges": {onServer(func(in *doctor.Input) {
			in.Facts.Expected, in.Facts.Present = []store.Object{table, trigger, grant}, []store.Object{grant}
		}), store.FactSchema, wire.FindingWarning, "The schema could not be read: it took longer than 5000 ms; it was not checked."},
		"the expected schema of a file": {onFile(func(in *doctor.Input) {
			in.Facts.Present = []store.Object{table, trigger}
		}), store.FactSchema, wire.FindingWarning, "The schema could not be read: it took longer than 5000 ms; it was not checked."},
		"privileges": {onServer(func(in *doctor.Input) {
			in.Facts.Expected, in.Facts.Present = []store.Object{table, trigger, grant}, []store.Object{table, trigger}
		}), store.FactGrants, wire.FindingWarning, "This was not checked: it took longer than 5000 ms."},
		"roles": {onServer(func(in *doctor.Input) {
			in.Facts.Expected, in.Facts.Present = []store.Object{table, grant}, []store.Object{table}
		}), store.FactRoles, wire.FindingNote, "This was not checked"},
		"partitions": {onServer(func(in *doctor.Input) {
			in.Policy, in.Facts.Keys = policy.Default(), []wire.Key{{Role: "admin", CreatedAt: now, ExpiresAt: now.Add(time.Hour)}}
		}), store.FactPartitions, wire.FindingNote, "This was not checked"},
		"the archiver": {onServer(func(in *doctor.Input) { in.Facts.Server.Archiving = false }), store.FactArchiver, wire.FindingNote, "This was not checked"},
		"backups":      {onFile(func(in *doctor.Input) { in.Facts.Since = now.AddDate(0, -1, 0) }), store.FactBackups, wire.FindingNote, "This was not checked"},
	} {
		if found := doctor.Judge(c.in); len(found) == 0 {
			t.Errorf("%s: what is absent is not found when it could be read", name)
		}
		c.in.Facts.Unseen = []store.Unseen{{What: c.what, Why: "it took longer than 5000 ms"}}
		found := doctor.Judge(c.in)
		if len(found) != 1 || found[0].Check != "unseen" || found[0].Subject != c.what || found[0].Severity != c.severity || !strings.Contains(found[0].Evidence, c.evidence) {
			t.Errorf("%s: found %+v", name, found)
		}
	}
}
