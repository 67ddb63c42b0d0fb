package store

import (
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Activity is what happened to the errors of a table in a minute or, as a sum,
// in a longer time: the figures that rates are made of (spec 000, 11.1).
type Activity struct {
	Minute    time.Time // its beginning; zero in a sum
	Table     string
	Reported  int64 // reports, repeats too
	Parked    int64 // errors that came to wait for a person, each time they did
	Escalated int64 // of those that waited, the ones that moved up for the first time since
	Attempts  int64 // results of retries, lost workers too
	Succeeded int64 // attempts that went well
	Expired   int64 // errors whose TTL ran out
	Archived  int64 // errors that went to the archive, for whatever reason
	LeftPark  int64 // errors that left the park queue, for whatever reason
	Cleared   int64 // of those, the ones that somebody unparked, resolved, archived or verified
	Reviewed  int64 // review deadlines that were met, or fell away because the error was cleared
	Resolved  int64 // errors that were resolved without a retry: by people, or with their source row

	// Errors, each in the minute of one of its marks, so that it counts once in every window that
	// ends now. When the mark moves, the error is taken from its old minute. A repeat is no error of its own.
	Retried     int64 // whose retry last ended then
	Exhausted   int64 // whose retries were last exhausted then
	NotParked   int64 // that are not in the park queue, and were last reported, or left it, then
	LastParked  int64 // that were last parked then
	Unparked    int64 // that left the park queue then, and are not back
	Deescalated int64 // that ceased to be escalated then, and are not again
}

// Activities describes the rows of activity.
var Activities = sqldb.Table[Activity]{Name: "recoup.activity_delta", Columns: append([]sqldb.Column[Activity]{
	sqldb.Time("minute", func(a *Activity) *time.Time { return &a.Minute }),
	sqldb.Text("table_name", func(a *Activity) *string { return &a.Table }),
}, ActivityCounts...)}

// ActivityCounts describes what is counted.
var ActivityCounts = []sqldb.Column[Activity]{
	sqldb.Big("reported", func(a *Activity) *int64 { return &a.Reported }),
	sqldb.Big("parked", func(a *Activity) *int64 { return &a.Parked }),
	sqldb.Big("escalated", func(a *Activity) *int64 { return &a.Escalated }),
	sqldb.Big("attempts", func(a *Activity) *int64 { return &a.Attempts }),
	sqldb.Big("succeeded", func(a *Activity) *int64 { return &a.Succeeded }),
	sqldb.Big("expired", func(a *Activity) *int64 { return &a.Expired }),
	sqldb.Big("archived", func(a *Activity) *int64 { return &a.Archived }),
	sqldb.Big("park_left", func(a *Activity) *int64 { return &a.LeftPark }),
	sqldb.Big("park_cleared", func(a *Activity) *int64 { return &a.Cleared }),
	sqldb.Big("park_reviewed", func(a *Activity) *int64 { return &a.Reviewed }),
	sqldb.Big("resolved", func(a *Activity) *int64 { return &a.Resolved }),
	sqldb.Big("retried", func(a *Activity) *int64 { return &a.Retried }),
	sqldb.Big("exhausted", func(a *Activity) *int64 { return &a.Exhausted }),
	sqldb.Big("not_parked", func(a *Activity) *int64 { return &a.NotParked }),
	sqldb.Big("last_parked", func(a *Activity) *int64 { return &a.LastParked }),
	sqldb.Big("unparked", func(a *Activity) *int64 { return &a.Unparked }),
	sqldb.Big("deescalated", func(a *Activity) *int64 { return &a.Deescalated }),
}

// Tally says what one transition of an error counts as. before is nil for the
// first report of a failure; for a repeat it is the error that is replaced, so
// that what is taken over from it is not counted again. What is counted by marks is
// left out: see [Tallies.Note].
func Tally(before, next *recoup.Error, input lifecycle.Kind) Activity {
	var none recoup.Error
	if before == nil {
		before = &none
	}
	ended := next.LastAttempt == before.LeaseToken && next.LastResult != ""
	won := ended && next.LastResult == string(lifecycle.Succeeded)
	gone := next.State == recoup.Archived && before.State != recoup.Archived
	left := parked(before) && !parked(next) && next.ArchiveReason != recoup.SupersededByNext
	cleared := left && clears(input)
	return Activity{
		Table:     next.Table,
		Reported:  one(input == lifecycle.Reported),
		Parked:    one(parked(next) && !parked(before)),
		Escalated: one(next.State == recoup.Escalated && before.State != recoup.Escalated),
		Attempts:  one(ended),
		Succeeded: one(won),
		Expired:   one(gone && next.ArchiveReason == recoup.TTLExpired),
		Archived:  one(gone),
		LeftPark:  one(left),
		Cleared:   one(cleared),
		Reviewed:  one(parked(before) && !before.ReviewDueAt.IsZero() && (cleared || input == lifecycle.Reviewing)),
		Resolved:  one(next.State == recoup.Resolved && before.State != recoup.Resolved && clears(input)),
	}
}

// clears reports whether an input is somebody's who is done with a parked error. One that a
// repeat replaces is still there, in the repeat, and one that expires nobody has reached.
func clears(input lifecycle.Kind) bool {
	switch input {
	case lifecycle.Unparking, lifecycle.Resolving, lifecycle.Archiving, lifecycle.Verifying:
		return true
	}
	return false
}

func parked(e *recoup.Error) bool { return e.State.InParkQueue() }

func one(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

// Level is how many errors of a table are in a state at the moment, and how old
// they are together.
type Level struct {
	Table     string
	Blocking  int64
	Open      int64 // not resolved
	Parked    int64 // escalated ones too
	Escalated int64
	Used      float64 // the sum over open errors that expire of age per TTL
	Expiring  int64   // how many those are

	// Of these, errors that stand where a report of the past has put them: they are in the levels,
	// and count in no rate and no alert.
	Past Historic
}

// Historic is how many errors of the past a table has.
type Historic struct {
	Table                       string
	Parked, Escalated, Blocking int64
}

// LevelSum is what a store keeps count of: the errors of a table that are in a
// state and live equally long, with the sum of the times at which they were
// made. Of errors that do not expire, and of resolved ones, the TTL and the sum
// are zero.
type LevelSum struct {
	Table    string
	State    recoup.State
	TTL      int64 // microseconds; a person may write one that no Duration can hold
	N        int64
	Blocking int64
	Seconds  int64 // of the times since 1970, together
	Micros   int64 // and what they have beyond whole seconds
}

// CoarseTTL is the SQL by which sums are folded and read: from twenty seconds on, a TTL to a
// fortieth of itself or less, rounded to units that people use. What a policy says stays
// as it is, whole days from twenty days on and whole hours below; what SQL or the
// end of an older error made of it becomes one of some thousand, so that levels
// cost the same however many errors there are. It is always the same of a TTL, and
// of what it made of one: what is counted and what leaves meet.
const CoarseTTL = `(ttl_us + ttl_unit / 2) / ttl_unit * ttl_unit`

// TTLUnit is what CoarseTTL calls ttl_unit.
const TTLUnit = `case when ttl_us < 1000000 then 1 when ttl_us < 200000000 then 1000000 when ttl_us < 1200000000 then 10000000
	when ttl_us < 12000000000 then 60000000 when ttl_us < 72000000000 then 600000000 when ttl_us < 1728000000000 then 3600000000
	else 86400000000 end`

// Levels adds sums up to levels at now, by table. The sum of (now − created) per
// TTL over n errors is (n · now − the sum of created) per TTL: no error has to be
// looked at.
func Levels(now time.Time, sums []LevelSum) []Level {
	var list []Level
	at := map[string]int{}
	for _, s := range sums {
		i, known := at[s.Table]
		if !known {
			i = len(list)
			at[s.Table], list = i, append(list, Level{Table: s.Table})
		}
		list[i].add(now, s)
	}
	list = slices.DeleteFunc(list, func(l Level) bool { return l == Level{Table: l.Table} })
	slices.SortFunc(list, func(a, b Level) int { return strings.Compare(a.Table, b.Table) })
	return list
}

// AddPast adds what of levels is of the past. Counts lag behind errors by a moment, so it is never
// more than there is.
func AddPast(levels []Level, past []Historic) {
	for _, h := range past {
		i := slices.IndexFunc(levels, func(l Level) bool { return l.Table == h.Table })
		if i < 0 {
			continue
		}
		l := &levels[i]
		l.Past = Historic{Table: h.Table, Parked: min(h.Parked, l.Parked), Escalated: min(h.Escalated, l.Escalated), Blocking: min(h.Blocking, l.Blocking)}
	}
}

func (l *Level) add(now time.Time, s LevelSum) {
	l.Blocking += s.Blocking
	if s.State.Open() {
		l.Open += s.N
	}
	if s.State.InParkQueue() {
		l.Parked += s.N
	}
	if s.State == recoup.Escalated {
		l.Escalated += s.N
	}
	if s.TTL > 0 {
		l.Expiring += s.N
		seconds := s.N*now.Unix() - s.Seconds
		micros := s.N*int64(now.Nanosecond()/1000) - s.Micros
		l.Used += (float64(seconds) + float64(micros)/1e6) / (float64(s.TTL) / 1e6)
	}
}
