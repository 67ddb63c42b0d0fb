package doctor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/adoption"
	"github.com/recoup-dev/recoup/server/internal/doctor"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

var now = time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)

// onServer is what a server shows that nothing is wrong with, and what a test changes.
func onServer(change func(*doctor.Input)) *doctor.Input {
	in := &doctor.Input{Now: now, Facts: store.Facts{Kind: "postgres", Clock: now, Server: &store.ServerFacts{
		Settings: map[string]string{"fsync": "on", "shared_buffers": "131072"}, Archiving: true, Available: 100,
	}}}
	change(in)
	return in
}

// onFile is that of a file.
func onFile(change func(*doctor.Input)) *doctor.Input {
	in := &doctor.Input{Now: now, Facts: store.Facts{Kind: "sqlite", Clock: now, Since: now, File: &store.FileFacts{Path: "/data/recoup.db", FreeBytes: 1 << 40, TotalBytes: 1 << 41}}}
	change(in)
	return in
}

func onNode(n doctor.Node) *doctor.Input {
	return onServer(func(in *doctor.Input) { in.Node = &n })
}

// What cannot be planted into a database of a test is judged by its facts: each is found,
// and nothing else.
func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		in       *doctor.Input
		severity wire.FindingSeverity
		check    string
		evidence string
	}{
		"transaction ids run out": {onServer(func(in *doctor.Input) { in.Facts.Server.FrozenAge = 1_700_000_000 }), wire.FindingCritical, "vacuum", "1700000000 transactions"},
		"autovacuum off":          {onServer(func(in *doctor.Input) { in.Facts.Server.Settings["autovacuum"] = "off" }), wire.FindingWarning, "vacuum", "It is off"},
		"changes that wait": {onServer(func(in *doctor.Input) {
			adoption.AddFacts(&in.Facts, []adoption.Fact{{Source: "shop.rejects", State: wire.AdoptionGoverned, WaitingSince: in.Facts.Clock.Add(-time.Hour)}})
		}), wire.FindingWarning, "adoptions", "have waited for a node"},
		"rows that cannot be read": {onServer(func(in *doctor.Input) {
			adoption.AddFacts(&in.Facts, []adoption.Fact{{Source: "shop.rejects", State: wire.AdoptionGoverned, Unreadable: 3, Example: adoption.Unreadable{Key: "7", Cause: "division by zero"}}})
		}), wire.FindingWarning, "adoptions", "fails on 3 of its rows, such as that of key 7 (division by zero)"},
		"adopted under a table that the policy has no more": {onServer(func(in *doctor.Input) {
			adoption.AddFacts(&in.Facts, []adoption.Fact{{Source: "shop.rejects", State: wire.AdoptionGoverned, Table: "shop.errors", Retired: true}})
		}), wire.FindingCritical, "adoptions", "adopted as shop.errors, which the policy in force no longer has"},
		"a column that was renamed": {onServer(func(in *doctor.Input) {
			adoption.AddFacts(&in.Facts, []adoption.Fact{{Source: "shop.rejects", State: wire.AdoptionGoverned, Lost: []string{"note"}, WaitingSince: in.Facts.Clock.Add(-time.Hour)}})
		}), wire.FindingCritical, "adoptions", "that its adoption names: note."},
		"an adopted table whose owner may not note changes": {onServer(func(in *doctor.Input) {
			adoption.AddFacts(&in.Facts, []adoption.Fact{{Source: "shop.rejects", State: wire.AdoptionGoverned, Noter: "shop", Lacks: []string{"usage on schema recoup"}, Lost: []string{"note"}}})
		}), wire.FindingCritical, "adoptions", "Statements that write it fail: its triggers act as shop, who lacks usage on schema recoup."},
		"an adopted table whose role has no limit": {onServer(func(in *doctor.Input) {
			adoption.AddFacts(&in.Facts, []adoption.Fact{{Source: "shop.rejects", State: wire.AdoptionGoverned, Unlimited: "alter role recoup_adopter_5_1 connection limit 5"}})
		}), wire.FindingWarning, "adoptions", "Its login role has no limit of connections"},
		"an adopted table that was renamed": {onServer(func(in *doctor.Input) {
			adoption.AddFacts(&in.Facts, []adoption.Fact{{Source: "shop.rejects", State: wire.AdoptionGoverned, Renamed: "shop.faults"}})
		}), wire.FindingCritical, "adoptions", "It is called shop.faults now"},
		"an adopted table that was given away": {onServer(func(in *doctor.Input) {
			adoption.AddFacts(&in.Facts, []adoption.Fact{{Source: "shop.rejects", State: wire.AdoptionGoverned, Given: true}})
		}), wire.FindingCritical, "adoptions", "It has another owner now"},
		"an adopted table that was renamed and given away": {onServer(func(in *doctor.Input) {
			adoption.AddFacts(&in.Facts, []adoption.Fact{{Source: "shop.rejects", State: wire.AdoptionGoverned, Renamed: "shop.faults", Given: true}})
		}), wire.FindingCritical, "adoptions", "then adopt it again. recoup adopt release shop.rejects"},
		"an adopted table with code of others": {onServer(func(in *doctor.Input) {
			adoption.AddFacts(&in.Facts, []adoption.Fact{{Source: "shop.rejects", State: wire.AdoptionGoverned, Foreign: "the type shop.level belongs to zed", ForeignWay: "run ALTER TYPE", Unreachable: "no"}})
		}), wire.FindingCritical, "adoptions", "the type shop.level belongs to zed. Nodes leave the table alone until that changes: run ALTER TYPE."},
		"a new partition": {onServer(func(in *doctor.Input) {
			adoption.AddFacts(&in.Facts, []adoption.Fact{{Source: "shop.rejects", State: wire.AdoptionGoverned, Partitions: 14, UnseenSince: in.Facts.Clock.Add(-time.Hour), UnseenWhy: "permission denied for table rejects_2027",
				Missing: []string{"adopted_1_insert on shop.rejects_2027", "adopted_1_update on shop.rejects_2027", "adopted_1_insert on shop.rejects_2028"}}})
		}), wire.FindingCritical, "adoptions", "2 of 14 partitions lack triggers, or have them disabled (shop.rejects_2027, shop.rejects_2028)"},
		"bloat": {onServer(func(in *doctor.Input) {
			in.Facts.Server.Tables = []store.TableHealth{{Name: "recoup.due", Live: 1000, Dead: 90_000}}
		}), wire.FindingWarning, "vacuum", "never vacuumed"},
		"long transaction": {onServer(func(in *doctor.Input) {
			in.Facts.Server.Holders = []store.Holder{{Kind: "transaction", Name: "pid 7 of ada (psql)", Since: now.Add(-3 * time.Hour)}}
		}), wire.FindingWarning, "horizon", "open for 3 hours"},
		"a lock": {onServer(func(in *doctor.Input) {
			in.Facts.Server.Locks = []store.LockHolder{{PID: 7, Role: "mallory", Mode: "AccessExclusiveLock", On: "recoup.error", Blocked: 2, Since: now.Add(-time.Hour)}}
		}), wire.FindingCritical, "locks", "It holds AccessExclusiveLock on recoup.error, and 2 sessions wait for it: reports and promotions that need the table fail. Its transaction began 60 minutes ago."},
		"a lock that keeps months": {onServer(func(in *doctor.Input) {
			in.Facts.Server.Locks = []store.LockHolder{{PID: 7, Role: "mallory", Mode: "AccessShareLock", On: "recoup.transition"}}
		}), wire.FindingNote, "locks", "It holds AccessShareLock on recoup.transition, and 0 sessions wait for it: old months cannot be dropped meanwhile"},
		"a session that fills the lock table": {onServer(func(in *doctor.Input) {
			in.Facts.Server.Locks = []store.LockHolder{{PID: 7, Role: "mallory", Mode: "5000 locks", On: store.ManyObjects}}
		}), wire.FindingWarning, "locks", "It holds 5000 locks on various objects, and 0 sessions wait for it: once the lock table of the server is full, statements of all sessions fail"},
		"a role whose settings were changed": {onServer(func(in *doctor.Input) {
			in.Facts.Server.RoleSettings = []store.RoleSetting{{Role: "recoup_writer", Name: "role", Value: "mallory", Fix: "alter role recoup_writer reset role"}}
		}), wire.FindingWarning, "roles", "Its role is mallory, which Recoup has not set"},
		"a setting of a role that loses writes": {onServer(func(in *doctor.Input) {
			in.Facts.Server.Settings["synchronous_commit"] = "off"
			in.Facts.Server.RoleSettings = []store.RoleSetting{{Role: "recoup_app", Name: "synchronous_commit", Value: "off", Fix: "alter role recoup_app reset synchronous_commit"}}
		}), wire.FindingCritical, "durability", "loses what was acknowledged"},
		"a grant of a role that was dropped": {onServer(func(in *doctor.Input) {
			in.Facts.Server.StaleReaders = []store.StaleReader{{Reader: "ada", Kind: "hub", Name: "dol-filings", Fix: "select recoup.forbid_read('ada', 'hub', 'dol-filings')"}}
		}), wire.FindingNote, "roles", "A role of this name, dropped since, could read hub dol-filings"},
		"idle slot": {onServer(func(in *doctor.Input) {
			in.Facts.Server.Holders = []store.Holder{{Kind: "replication slot", Name: "old", Bytes: 5 << 30}}
		}), wire.FindingWarning, "horizon", "5.0 GB"},
		"prepared transaction": {onServer(func(in *doctor.Input) {
			in.Facts.Server.Holders = []store.Holder{{Kind: "prepared transaction", Name: "x", Since: now.Add(-72 * time.Hour)}}
		}), wire.FindingWarning, "horizon", "prepared for 3 days"},
		"fsync off": {onServer(func(in *doctor.Input) { in.Facts.Server.Settings["fsync"] = "off" }), wire.FindingCritical, "durability", "corrupt"},
		"small buffers": {onServer(func(in *doctor.Input) {
			in.Facts.Server.Settings["shared_buffers"] = "16384"
			in.Facts.Server.Size = 2 << 30
		}), wire.FindingNote, "settings", "128 MB"},
		"clock ahead":      {onServer(func(in *doctor.Input) { in.Skew = time.Minute }), wire.FindingWarning, "clock", "60 seconds ahead of"},
		"sessions used up": {onServer(func(in *doctor.Input) { in.Facts.Server.Sessions = 97 }), wire.FindingWarning, "connections", "97 of 100"},
		"pooler":           {onServer(func(in *doctor.Input) { in.Facts.Server.Pooled = true }), wire.FindingNote, "pooler", "poll"},
		"archiving fails":  {onServer(func(in *doctor.Input) { in.Facts.Server.ArchiveFail = now }), wire.FindingWarning, "backups", "cannot be archived"},
		"backups unknown":  {onServer(func(in *doctor.Input) { in.Facts.Server.Archiving = false }), wire.FindingNote, "backups", "pg_dump --format custom --file recoup.dump postgres://recoup_owner@…"},
		"role too powerful": {onServer(func(in *doctor.Input) {
			in.Facts.Server.Roles = []store.RoleFact{{Name: "recoup_app", Powers: []string{"superuser"}}}
		}), wire.FindingWarning, "roles", "superuser"},
		"a role that another may grant to itself": {onServer(func(in *doctor.Input) {
			in.Facts.Server.RoleAdmins = []store.RoleAdmin{{Role: "recoup_app", Admin: "mallory", Revoke: "revoke admin option for recoup_app from mallory"}}
		}), wire.FindingWarning, "roles", "It may grant recoup_app to itself and to others (ADMIN OPTION). It can act as a node"},
		"role missing": {onServer(func(in *doctor.Input) {
			in.Facts.Server.Roles = []store.RoleFact{{Name: "recoup_reader", Missing: true}}
		}), wire.FindingNote, "roles", "does not exist"},
		"a function of another role": {onServer(func(in *doctor.Input) {
			in.Facts.Server.Foreign = []store.ForeignObject{{Name: "function cl.refuse(text)", Owner: "mallory", Wanted: "recoup_owner"}}
		}), wire.FindingCritical, "owners", "It belongs to mallory and not to recoup_owner"},
		"everybody may create in public": {onServer(func(in *doctor.Input) { in.Facts.Server.PublicCreate = true }), wire.FindingWarning, "public-schema", "Any role can create functions and operators there"},
		"not seen":                       {onServer(func(in *doctor.Input) { in.Facts.Unseen = []store.Unseen{{What: "settings", Why: "it took too long"}} }), wire.FindingNote, "unseen", "it took too long"},
		"policy warnings": {onServer(func(in *doctor.Input) {
			in.Facts.Server.Roles = nil
			in.Warnings = []string{"an override is shadowed"}
			in.Policy = policy.Default()
			in.Facts.Keys = []wire.Key{{Role: "admin", CreatedAt: now, ExpiresAt: now.Add(time.Hour)}}
			in.Facts.Partitions = months()
		}), wire.FindingNote, "policy", "shadowed"},
		"open to all in TLS": {onNode(doctor.Node{Listen: "0.0.0.0:8080"}), wire.FindingWarning, "listener", "without TLS"},
		"channel missing":    {onNode(doctor.Node{Listen: "127.0.0.1:80", Channels: []wire.Channel{{Name: "pager", State: wire.ChannelMissing}}}), wire.FindingWarning, "channels", "only logged"},
		"channel failing":    {onNode(doctor.Node{Listen: "127.0.0.1:80", Channels: []wire.Channel{{Name: "log", State: wire.ChannelUp}, {Name: "chat", State: wire.ChannelFailing, Failures: 3, FailingSince: now.Add(-2 * time.Hour), LastFailure: "it refuses connections", Undelivered: 7}}}), wire.FindingWarning, "channels", "It has failed for 2 hours, 3 messages in a row: it refuses connections. 7 notifications undelivered."},
		"channel unreached":  {onNode(doctor.Node{Listen: "localhost:80", Unreached: []string{"PAGE_ON_CALL of team"}}), wire.FindingNote, "channels", "only the log"},
		"channel unrouted":   {onNode(doctor.Node{Listen: "[::1]:80", Unrouted: []string{"mail"}}), wire.FindingNote, "channels", "no route"},
		"loose master key":   {onNode(doctor.Node{Listen: "127.0.0.1:80", LooseFiles: []doctor.LooseFile{{Path: "/etc/master.key", Mode: "600"}}}), wire.FindingWarning, "encryption", "/etc/master.key"},
		"damaged file":       {onFile(func(in *doctor.Input) { in.Facts.File.Damage = "row 3 missing from index" }), wire.FindingCritical, "file", "row 3"},
		"disk almost full":   {onFile(func(in *doctor.Input) { in.Facts.File.FreeBytes = 100 << 20 }), wire.FindingCritical, "file", "100 MB"},
		"unused admin": {onServer(func(in *doctor.Input) {
			in.Facts.Keys = []wire.Key{{Role: "admin", Name: "old", CreatedAt: now.AddDate(0, -4, 0), ExpiresAt: now.AddDate(0, 1, 0)}}
		}), wire.FindingNote, "keys", "nobody has used it"},
	} {
		t.Run(name, func(t *testing.T) {
			found := doctor.Judge(c.in, adoption.Check())
			if len(found) != 1 || found[0].Severity != c.severity || found[0].Check != c.check || !strings.Contains(found[0].Evidence+" "+found[0].Fix, c.evidence) {
				t.Errorf("found %+v", found)
			}
		})
	}
	for name, in := range map[string]*doctor.Input{
		"server": onServer(func(*doctor.Input) {}), "file": onFile(func(*doctor.Input) {}), "node": onNode(doctor.Node{Listen: "127.0.0.1:8080"}),
	} {
		if found := doctor.Judge(in, adoption.Check()); len(found) > 0 {
			t.Errorf("%s: found %+v", name, found)
		}
	}
}

// months are the partitions that must be there.
func months() (list []store.Partition) {
	for _, parent := range []string{"error_event", "transition"} {
		for _, month := range []string{"_y2026m02", "_y2026m03"} {
			list = append(list, store.Partition{Parent: parent, Name: parent + month, Attached: true})
		}
	}
	return list
}

// TestJudgeSourceRules compares what a policy makes of the rows of an adopted table with
// what that has, and what its owner has agreed to.
func TestJudgeSourceRules(t *testing.T) {
	t.Parallel()
	for source, c := range map[string]struct {
		fact     adoption.Fact
		evidence string
	}{
		"{details: [region, tenant]}": {adoption.Fact{}, "columns of it that it does not have: tenant."},
		"{encrypted: [region]}":       {adoption.Fact{}, "that its functions do not give: region."},
		"{at_end: move}":              {adoption.Fact{}, "its owner has not agreed to that"},
		"{at_end: delete}": {
			adoption.Fact{Agreed: wire.SourceRules{AtEnd: wire.SourceDelete}, KeptBack: 2, KeptWhy: "the constraint refunds_fkey keeps it"},
			"refuses that for 2 of them: the constraint refunds_fkey keeps it",
		},
		"{details: [region]}": {adoption.Fact{Agreed: wire.SourceRules{Details: []string{"id", "region"}}}, ""},
	} {
		p, err := policy.Load("adopted.yaml", []byte("version: 1\ntables:\n  shop.rejects:\n    source: "+source+"\n"), fault.Default())
		if err != nil {
			t.Fatal(err)
		}
		c.fact.Source, c.fact.Table, c.fact.State, c.fact.Columns = "shop.rejects", "shop.rejects", wire.AdoptionGoverned, []string{"id", "region"}
		var evidence string
		in := doctor.Input{Policy: p}
		adoption.AddFacts(&in.Facts, []adoption.Fact{c.fact})
		for _, found := range doctor.Judge(&in, adoption.Check()) {
			if found.Check == "adoptions" {
				evidence += found.Evidence
			}
		}
		if !strings.Contains(evidence, c.evidence) || c.evidence == "" && evidence != "" {
			t.Errorf("%s: found %q, want %q", source, evidence, c.evidence)
		}
	}
}

// Names of other people's tables and columns are no code in the commands.
func TestCommandsQuoteNames(t *testing.T) {
	t.Parallel()
	const table, column = "shop.errors_$(touch x)", "order';touch y;'_id"
	relation := store.Relation{Name: table, Columns: []store.RelationColumn{{Name: column}, {Name: "message"}, {Name: "created_at"}}}
	p, err := policy.Load("dead.yaml", []byte("version: 1\ntables:\n  shop.rejects: {}\n"), fault.Default())
	if err != nil {
		t.Fatal(err)
	}
	in := onServer(func(in *doctor.Input) {
		in.Facts.Partitions = months()
		in.Facts.Keys = []wire.Key{{Role: "admin", CreatedAt: now, ExpiresAt: now.Add(time.Hour)}}
		in.Policy = p
		in.Facts.Names = []store.NameFact{{Name: table, Is: "table", Known: true}}
		in.Facts.DeadTables, in.Facts.Lookalikes = []store.Relation{relation}, []store.Relation{relation}
		in.Facts.Breaches = []store.Breach{store.NewBreach(store.RuleCodes, []string{"$(touch x)"})}
		for _, change := range []func(*adoption.Fact){
			func(a *adoption.Fact) { a.Gone = true }, func(a *adoption.Fact) { a.Unreachable = "no" }, func(a *adoption.Fact) { a.Lost = []string{"x"} },
			func(a *adoption.Fact) { a.Renamed = table }, func(a *adoption.Fact) { a.Given = true }, func(a *adoption.Fact) { a.Missing = []string{"x on " + table} },
			func(a *adoption.Fact) { a.Altered = []string{"x"} }, func(a *adoption.Fact) { a.Retired = true }, func(a *adoption.Fact) { a.Unreadable = 1 },
			func(a *adoption.Fact) { a.State = wire.AdoptionReleasing }, func(a *adoption.Fact) { a.State = wire.AdoptionAdopting },
		} {
			a := adoption.Fact{Source: table, State: wire.AdoptionGoverned, BegunAt: now.Add(-24 * time.Hour)}
			change(&a)
			adoption.AddFacts(&in.Facts, append(adoption.FactsOf(&in.Facts), a))
		}
	})
	found := doctor.Judge(in, adoption.Check())
	if len(found) < 14 {
		t.Errorf("found %d ills", len(found))
	}
	for _, f := range found {
		plain := strings.NewReplacer("'shop.errors_$(touch x)'", "", `'order'\'';touch y;'\''_id'`, "", "'$(touch x)'", "").Replace(f.Fix)
		if strings.Contains(plain, "touch") {
			t.Errorf("%s: %s", f.Check, f.Fix)
		}
	}
}
