package adoption

import (
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// checkName is the name of the doctor's check, by which facts have what it judges.
const checkName = "adoptions"

// AddFacts adds what was found of adopted tables.
func AddFacts(f *store.Facts, list []Fact) {
	if f.Added == nil {
		f.Added = map[string]any{}
	}
	f.Added[checkName] = list
}

// FactsOf returns what was found of adopted tables.
func FactsOf(f *store.Facts) []Fact {
	list, _ := f.Added[checkName].([]Fact)
	return list
}

// Fact is how an adopted table is.
type Fact struct {
	ID           int
	Source       string
	State        wire.AdoptionState
	BegunAt      time.Time
	Gone         bool      // the table is
	Table        string    // of the policy
	Retired      bool      // the policy in force has none of that name
	Missing      []string  // triggers and functions of it that are missing or disabled
	Partitions   int       // how many it has
	UnseenSince  time.Time // since when nodes have found partitions without triggers that they cannot add; zero: none
	UnseenWhy    string    // why they cannot
	Altered      []string  // functions that are not as they were made
	Unreachable  string    // why nodes cannot connect to it; empty: they can
	Role         string    // as which nodes connect to it
	Login        Login     // what is wrong with that role; empty: nothing
	Unlimited    string    // the statement that limits how many connections its login role can have; empty: it has a limit
	Lost         []string  // columns that its functions name and that it has no longer
	Renamed      string    // what it is called now, if that is another name
	Given        bool      // to another owner than it had when it was adopted, or a partition of it was
	Foreign      string    // code of another role that would run with the rights of its functions; empty: none
	ForeignWay   string    // what to do about that
	Noter        string    // whom its triggers act as, in SQL
	Lacks        []string  // privileges that the noter needs to write changes down, and has not
	WaitingSince time.Time // the oldest change that no node has looked at; zero: none
	Unreadable   int64     // rows that could not be read, counted up to 10000
	Example      Unreadable
	Refused      int64 // rows that refuse what became of their error, counted up to 10000
	Refuser      Unreadable

	// What the policy makes of its rows.
	Columns  []string // that the source has
	Agreed   wire.SourceRules
	KeptBack int64 // rows that it refuses to give up
	KeptWhy  string
}

// Unreadable is a row of a source that could not be read when it was last looked at,
// because a condition of its owner fails on it.
type Unreadable struct {
	Key   string
	Cause string // redacted
}

// Login is what is wrong with the login role of an adoption.
type Login string

// What a restore or a copy of a database can do to login roles.
const (
	LoginMissing  Login = "missing"  // it does not exist
	LoginForeign  Login = "foreign"  // it belongs to another database, of which this one is a copy
	LoginUnusable Login = "unusable" // it may not call the functions
	LoginPublic   Login = "public"   // every role may call the functions
	LoginOwn      Login = "own"      // there is none: nodes use the login of the schema's owner
)
