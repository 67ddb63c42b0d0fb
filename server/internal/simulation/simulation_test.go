package simulation_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/simulation"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

const day = 24 * time.Hour

// The tables of spec 000 that the tests name.
const (
	dol       = "outreach.dol_errors"
	discovery = "company.url_discovery_failures"
)

func defaults() simulation.Options {
	return simulation.Defaults(policy.Default(), fault.Default())
}

func run(t *testing.T, o simulation.Options) simulation.Result {
	t.Helper()
	r, err := simulation.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Three failures, calculated by hand. Nobody looks, every attempt succeeds.
//
//	09:00:00  CO-1 times out in dol_errors: retried after 2 s, and resolved
//	09:00:01  CO-1 is invalid in dol_errors: parked, climbs the ladder (review
//	          missed after 24 h, 48 h + 8 h and 7 d + 4 h), expires after 30 d
//	09:00:05  CO-2 is invalid and HIGH in url_discovery_failures, which cannot
//	          park: kept as ARCHIVE, its owner notified, expires after 7 d
//
// The first two overlap: CO-1 is blocked once, for 30 d and 1 s.
func TestThreeFailures(t *testing.T) {
	o := defaults()
	at := time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)
	o.History = []simulation.Failure{
		{At: at, Table: dol, EntityID: "CO-1", Code: "NETWORK_TIMEOUT"},
		{At: at.Add(time.Second), Table: dol, EntityID: "CO-1", Code: "VALIDATION_ERROR"},
		{At: at.Add(5 * time.Second), Table: discovery, EntityID: "CO-2", Code: "VALIDATION_ERROR", Severity: recoup.High},
	}
	o.Length = 0
	o.People = simulation.People{}
	o.Workers = simulation.Workers{Succeed: map[recoup.Class]float64{recoup.ClassImmediate: 1}}
	r := run(t, o)

	blocked := simulation.Blocked{
		Entities: 1, Spells: 1, TotalSeconds: 30*86400 + 1, MeanSeconds: 30*86400 + 1, LongestSeconds: 30*86400 + 1,
	}
	want := simulation.Tally{
		Reported: 3, Attempts: 1, Succeeded: 1,
		Parked:    map[recoup.ParkReason]int{recoup.NonRetryableError: 1},
		NotParked: 1, Escalated: map[int]int{2: 1, 3: 1}, ResolvedByWorker: 1,
		Archived: map[recoup.ArchiveReason]int{recoup.ResolvedArchive: 1, recoup.TTLExpired: 2},
		Open:     map[recoup.State]int{}, Blocked: blocked, UnblockedByTTL: 1,
		Notices: map[wire.NoticeKind]int{
			wire.NoticeParked: 1, wire.NoticeNotParked: 1, wire.NoticeEscalated: 2,
			wire.NoticeReviewMissed: 3, wire.NoticeExpiring: 1, wire.NoticeUnblocked: 1,
		},
	}
	if !reflect.DeepEqual(r.Total, want) {
		t.Errorf("got  %+v\nwant %+v", r.Total, want)
	}
	if !r.Start.Equal(at) || !r.End.Equal(at.Add(30*day+time.Second)) {
		t.Errorf("from %s to %s", r.Start, r.End)
	}
	if first := r.Tables[0]; first.Table != dol || first.Reported != 2 || first.Blocked != blocked {
		t.Errorf("%+v", first)
	}
}

// A repeat replaces what is open, takes its place in the park over, and blocks
// its entity no second time.
func TestRepeat(t *testing.T) {
	o := defaults()
	at := time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)
	for i := range 3 {
		o.History = append(o.History, simulation.Failure{
			At: at.Add(time.Duration(i) * day), Table: dol, EntityID: "CO-1", Code: "VALIDATION_ERROR",
		})
	}
	o.Length, o.People = 0, simulation.People{}
	r := run(t, o).Total
	if r.Archived[recoup.SupersededByNext] != 2 || r.Archived[recoup.TTLExpired] != 1 || r.Notices[wire.NoticeParked] != 1 {
		t.Errorf("%+v", r)
	}
	if b := r.Blocked; b.Spells != 1 || b.TotalSeconds != 32*86400 {
		t.Errorf("blocked %+v", b)
	}
}

// Five errors of one entity, in two tables, that all expire are one block that
// expiry has ended: one for each table, and one for the entity.
func TestManyExpireOneBlock(t *testing.T) {
	o := defaults()
	at := time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)
	for i, code := range []recoup.Code{"VALIDATION_ERROR", "RUNTIME_BUG", "CONFIGURATION_ERROR", "DUPLICATE_COMPANY", "CONTENT_REJECTED"} {
		table := dol
		if i%2 == 1 {
			table = "people.people_errors"
		}
		o.History = append(o.History, simulation.Failure{At: at.Add(time.Duration(i) * time.Second), Table: table, EntityID: "CO-1", Code: code})
	}
	o.Length, o.People = 0, simulation.People{}
	r := run(t, o)
	if r.Total.Notices[wire.NoticeUnblocked] != 5 || r.Total.UnblockedByTTL != 1 {
		t.Errorf("%d errors expired, expiry ended %d blocks, want 5 and 1", r.Total.Notices[wire.NoticeUnblocked], r.Total.UnblockedByTTL)
	}
	for _, table := range r.Tables {
		if want := min(table.Reported, 1); table.UnblockedByTTL != want {
			t.Errorf("%s: expiry ended %d blocks, want %d", table.Table, table.UnblockedByTTL, want)
		}
	}
}

// Failures of a family are counted per entity: the third parks (spec 000, 9.2).
func TestFamily(t *testing.T) {
	o := defaults()
	at := time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)
	for i, code := range []recoup.Code{"DOMAIN_NOT_FOUND", "DOMAIN_NO_IMPRINT", "DNS_TIMEOUT"} {
		o.History = append(o.History, simulation.Failure{
			At: at.Add(time.Duration(i)), Table: "outreach.company_target_errors", EntityID: "CO-1", Code: code,
		})
	}
	o.Length = time.Second // no attempt is due yet
	r := run(t, o).Total
	if r.Parked[recoup.MaxRetriesExceeded] != 1 || r.Open[recoup.Parked] != 1 || r.Open[recoup.RetryPending] != 2 {
		t.Errorf("%+v", r)
	}
}

// A resolution starts the count of a family anew, so the third does not park.
func TestFamilyAfterASuccess(t *testing.T) {
	o := defaults()
	at := time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)
	for i := range 3 {
		o.History = append(o.History, simulation.Failure{
			At: at.Add(time.Duration(i) * day), Table: "outreach.company_target_errors", EntityID: "CO-1", Code: "DNS_TIMEOUT",
		})
	}
	o.Length = 0
	o.Workers = simulation.Workers{Succeed: map[recoup.Class]float64{recoup.ClassImmediate: 1}}
	if r := run(t, o).Total; r.ResolvedByWorker != 3 || len(r.Parked) != 0 {
		t.Errorf("%+v", r)
	}
}

// Attempts that cannot end well: all of them lost, failed, or failed for good.
func TestWorkers(t *testing.T) {
	for _, row := range []struct {
		name                   string
		workers                simulation.Workers
		attempts, failed, lost int
		reason                 recoup.ParkReason
	}{
		{"lost", simulation.Workers{Lost: 1}, 5, 0, 5, recoup.MaxRetriesExceeded},
		{"failed", simulation.Workers{}, 5, 5, 0, recoup.MaxRetriesExceeded},
		{"reclassified", simulation.Workers{Reclassify: 1}, 1, 1, 0, recoup.NonRetryableError},
	} {
		o := defaults()
		at := time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)
		o.History = []simulation.Failure{{At: at, Table: dol, EntityID: "CO-1", Code: "NETWORK_TIMEOUT"}}
		o.Length, o.Workers, o.People = day, row.workers, simulation.People{}
		r := run(t, o).Total
		if r.Attempts != row.attempts || r.Failed != row.failed || r.Lost != row.lost || r.Parked[row.reason] != 1 {
			t.Errorf("%s: %+v", row.name, r)
		}
	}
}

// People do one thing when that is all they do.
func TestPeople(t *testing.T) {
	for _, row := range []struct {
		name   string
		people simulation.People
		holds  func(simulation.Tally) bool
	}{
		{"resolve", simulation.People{Resolve: 1}, func(r simulation.Tally) bool {
			return r.ResolvedByPerson == 1 && r.Archived[recoup.ResolvedArchive] == 1
		}},
		{"archive", simulation.People{Archive: 1}, func(r simulation.Tally) bool { return r.Archived[recoup.ManualArchive] == 1 }},
		{"unpark", simulation.People{Unpark: 1}, func(r simulation.Tally) bool {
			return r.Unparked > 0 && r.Attempts == r.Unparked && r.Archived[recoup.TTLExpired] == 1
		}},
		{"escalate", simulation.People{Escalate: 1}, func(r simulation.Tally) bool {
			return r.Escalated[2] == 1 && r.Escalated[3] == 1 && r.Archived[recoup.TTLExpired] == 1
		}},
		{"only look", simulation.People{}, func(r simulation.Tally) bool {
			return r.Escalated[2] == 1 && r.Notices[wire.NoticeReviewMissed] == 0 && r.Archived[recoup.TTLExpired] == 1
		}},
	} {
		o := defaults()
		at := time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)
		o.History = []simulation.Failure{{At: at, Table: dol, EntityID: "CO-1", Code: "VALIDATION_ERROR"}}
		o.Length, o.Workers, o.People = 0, simulation.Workers{}, row.people
		o.People.Look = time.Minute
		if r := run(t, o).Total; !row.holds(r) {
			t.Errorf("%s: %+v", row.name, r)
		}
	}
}

// What lies after the end is counted and not run.
func TestHistoryBeyondTheEnd(t *testing.T) {
	o := defaults()
	at := time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)
	o.History = []simulation.Failure{
		{At: at, Table: dol, EntityID: "CO-1", Code: "NETWORK_TIMEOUT"},
		{At: at.Add(2 * day), Table: dol, EntityID: "CO-1", Code: "NETWORK_TIMEOUT"},
	}
	o.Length = day
	if r := run(t, o); r.Total.Reported != 1 || r.Beyond != 1 || !r.End.Equal(at.Add(day)) {
		t.Errorf("%+v", r)
	}
}

// Every error that is reported is archived or open, whatever workers, people and
// the mix are like.
func TestConservation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { conserves(t, draw(t)) })
}

// Orphans of two tables, and what is reported among the orphans, are no repeats of
// each other, though entity, code and table are the same: an orphan is known by the
// table that it was meant for.
func TestConservationOfOrphans(t *testing.T) {
	o := defaults()
	o.Seed, o.Length, o.Proven = 3, day, 1
	o.Mix.Errors, o.Mix.Entities = 114, 1
	o.Mix.Tables = map[string]float64{"outreach.bit_errors": 1, "outreach.blog_errors": 1, "public.shq_orphan_errors": 1}
	o.Mix.Codes = map[recoup.Code]float64{"NETWORK_TIMEOUT": 1}
	o.Mix.NoEntity, o.Mix.Repeat, o.Mix.RetryAfter = 0.25, 0.25, 0.5
	for _, class := range recoup.Classes() {
		o.Workers.Succeed[class] = 1
	}
	o.Workers.Reclassify, o.Workers.Lost, o.Workers.Takes, o.People.Look = 1, 1, 0, 0
	o.People.Resolve, o.People.Unpark, o.People.Escalate, o.People.Archive = 0.25, 0.25, 0.25, 0.25
	conserves(t, o)
}

// fataler is a test, or a run of a property.
type fataler interface {
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// conserves runs a simulation and holds its books to each other.
func conserves(t fataler, o simulation.Options) {
	r, err := simulation.Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	total := r.Total
	if total.Reported != o.Mix.Errors {
		t.Fatalf("%d of %d reported", total.Reported, o.Mix.Errors)
	}
	balance(t, r, total)
	reported := 0
	for _, table := range r.Tables {
		balance(t, r, table)
		reported += table.Reported
	}
	if reported != total.Reported {
		t.Fatalf("the tables have %d, all together %d", reported, total.Reported)
	}
}

// balance checks what must be equal in the books of a table.
func balance(t fataler, r simulation.Result, tally simulation.Tally) {
	ended, open := sum(tally.Archived), sum(tally.Open)
	resolved := tally.ResolvedByWorker + tally.ResolvedByPerson
	length := int64(r.End.Sub(r.Start) / time.Second)
	b := tally.Blocked
	switch {
	case tally.Reported != ended+open:
		t.Fatalf("%d reported, %d ended, %d open", tally.Reported, ended, open)
	case resolved != tally.Archived[recoup.ResolvedArchive]+tally.Open[recoup.Resolved]:
		t.Fatalf("%d resolved, %d archived as such", resolved, tally.Archived[recoup.ResolvedArchive])
	case tally.Attempts < tally.Succeeded+tally.Failed+tally.Lost:
		t.Fatalf("more results than attempts: %+v", tally)
	case tally.Succeeded != tally.ResolvedByWorker:
		t.Fatalf("%d succeeded, %d resolved by workers", tally.Succeeded, tally.ResolvedByWorker)
	case sum(tally.Parked) != tally.Notices[wire.NoticeParked]:
		t.Fatalf("%d parked, %d owners notified", sum(tally.Parked), tally.Notices[wire.NoticeParked])
	case b.LongestSeconds > length || b.TotalSeconds > int64(b.Entities)*length || b.Spells < b.Entities:
		t.Fatalf("blocked longer than there is time: %+v", b)
	case tally.UnblockedByTTL > min(b.Spells, tally.Archived[recoup.TTLExpired]):
		t.Fatalf("%d of %d spells ended by %d expiries", tally.UnblockedByTTL, b.Spells, tally.Archived[recoup.TTLExpired])
	}
}

func sum[K comparable](m map[K]int) int {
	total := 0
	for _, n := range m {
		total += n
	}
	return total
}

// draw makes options up.
func draw(t *rapid.T) simulation.Options {
	o := defaults()
	chance := func(name string) float64 { return rapid.Float64Range(0, 1).Draw(t, name) }
	o.Seed = rapid.Uint64().Draw(t, "seed")
	o.Length = time.Duration(rapid.IntRange(1, 120).Draw(t, "days")) * day
	o.Mix.Errors = rapid.IntRange(0, 400).Draw(t, "errors")
	o.Mix.Entities = rapid.IntRange(1, 50).Draw(t, "entities")
	o.Mix.NoEntity, o.Mix.Repeat, o.Mix.RetryAfter = chance("no entity"), chance("repeat"), chance("retry after")
	o.Proven = chance("proven")
	for _, class := range recoup.Classes() {
		o.Workers.Succeed[class] = chance(string(class))
	}
	o.Workers.Reclassify, o.Workers.Lost = chance("reclassify"), chance("lost")
	o.Workers.Takes = time.Duration(rapid.IntRange(0, 300).Draw(t, "takes")) * time.Second
	o.People.Look = time.Duration(rapid.IntRange(0, 200).Draw(t, "look")) * time.Hour
	o.People.Resolve, o.People.Unpark = chance("resolve")/4, chance("unpark")/4
	o.People.Escalate, o.People.Archive = chance("escalate")/4, chance("archive")/4
	return o
}

func TestSameSeedSameResult(t *testing.T) {
	o := defaults()
	o.Mix.Errors = 2_000
	first, second := run(t, o), run(t, o)
	if !reflect.DeepEqual(first, second) {
		t.Errorf("the same options gave\n%+v\nand\n%+v", first, second)
	}
	o.Seed++
	if other := run(t, o); slices.Equal(reports(first), reports(other)) {
		t.Error("another seed makes the same failures up")
	}
}

// reports lists how many failures each table has seen.
func reports(r simulation.Result) []int {
	var list []int
	for _, t := range r.Tables {
		list = append(list, t.Reported)
	}
	return list
}

// A change of the policy shows, over the same failures.
func TestPolicyMatters(t *testing.T) {
	o := defaults()
	o.Mix.Errors, o.Mix.Severities = 2_000, map[recoup.Severity]float64{recoup.High: 1}
	with := run(t, o)
	o.Policy = o.Policy.With(nil, "severities", "HIGH", "ttl")
	without := run(t, o)
	if !slices.Equal(reports(with), reports(without)) {
		t.Errorf("the failures differ: %v and %v", reports(with), reports(without))
	}
	if with.Total.UnblockedByTTL < 2*without.Total.UnblockedByTTL {
		t.Errorf("%d and %d unblocked by TTL", with.Total.UnblockedByTTL, without.Total.UnblockedByTTL)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := defaults()
	calls := 0
	o.Progress = func(int, int) {
		if calls++; calls == 3 {
			cancel()
		}
	}
	if _, err := simulation.Run(ctx, o); !errors.Is(err, context.Canceled) || calls != 3 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

func TestProgress(t *testing.T) {
	o := defaults()
	var seen []int
	o.Progress = func(reported, total int) {
		if total != o.Mix.Errors {
			t.Fatalf("%d in all", total)
		}
		seen = append(seen, reported)
	}
	run(t, o)
	if !slices.IsSorted(seen) || len(seen) < 10 || seen[len(seen)-1] != o.Mix.Errors {
		t.Errorf("%d calls, the last with %d", len(seen), seen[len(seen)-1])
	}
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	for _, row := range []struct {
		name, want string
		spoil      func(*simulation.Options)
	}{
		{"no policy", "a policy and a registry are needed", func(o *simulation.Options) { o.Policy = nil }},
		{"half a day", "the length is 12h0m0s: expected whole days", func(o *simulation.Options) { o.Length = day / 2 }},
		{"no time", "the length is 0s: expected whole days", func(o *simulation.Options) { o.Length = 0 }},
		{"fewer than none", "-1 errors: expected none or more", func(o *simulation.Options) { o.Mix.Errors = -1 }},
		{"nobody", "0 entities: expected at least one", func(o *simulation.Options) { o.Mix.Entities = 0 }},
		{"more than certain", "the chance that a worker is lost is 1.5", func(o *simulation.Options) { o.Workers.Lost = 1.5 }},
		{"two things at once", "the chance that people do any of this is 1.6", func(o *simulation.Options) { o.People.Resolve, o.People.Unpark = 0.8, 0.65 }},
		{"back in time", "people look after -1h0m0s", func(o *simulation.Options) { o.People.Look = -time.Hour }},
		{"no weight", "none of the tables has a weight above 0", func(o *simulation.Options) { o.Mix.Tables = nil }},
		{"negative weight", "-1 is no weight of hours", func(o *simulation.Options) { o.Mix.Hours[3] = -1 }},
		{"a history in disorder", "the history is not in the order of time", func(o *simulation.Options) {
			o.History = []simulation.Failure{{At: time.Unix(2, 0)}, {At: time.Unix(1, 0)}}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := defaults()
			row.spoil(&o)
			if _, err := simulation.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}
