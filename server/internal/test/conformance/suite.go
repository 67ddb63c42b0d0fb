package conformance

import (
	"context"
	"slices"
	"testing"

	"github.com/recoup-dev/recoup"
)

// clause is one sentence of the specification and how it is tried.
type clause struct {
	says string
	try  func(d *Driver)
}

// RawInserter is a store into which a person can write with plain SQL, as the
// views of PostgreSQL let them. Stores that have no such way are not asked.
type RawInserter interface {
	// RawInsert writes a row of a policy's table, naming only its entity and code.
	RawInsert(ctx context.Context, table, entity string, code recoup.Code) error
}

// Reopener is a store whose database can be opened by another node.
type Reopener interface {
	// Reopen opens the same database once more, with everything that opening
	// does to a schema.
	Reopen(ctx context.Context) (Store, error)
}

// Run holds a store to the specification. Each clause runs in parallel on a
// fresh store; open registers its own clean-up.
func Run(t *testing.T, open func(t *testing.T) Store) {
	for _, c := range clauses(open(t)) {
		t.Run(c.says, func(t *testing.T) {
			t.Parallel()
			c.try(NewDriver(t, open(t)))
		})
	}
}

// clauses returns what is asked of a store: everything, and what only some
// stores can do.
func clauses(s Store) []clause {
	list := slices.Concat(
		roundTrips(), reports(), steps(), results(), claims(), deadlines(), lists(),
		promotions(), archives(), atomicity(), syncs(), races(), receipts(),
	)
	if _, ok := s.(grouper); ok {
		list = append(list, groups()...)
	}
	if _, ok := s.(RawInserter); ok {
		list = append(list, admissions()...)
	}
	if _, ok := s.(Reopener); ok {
		list = append(list, openings()...)
	}
	return list
}

// The tables of spec 000 and 002.
const (
	dol       = "outreach.dol_errors"
	target    = "outreach.company_target_errors"
	people    = "people.people_errors"
	discovery = "company.url_discovery_failures"
	errorLog  = "public.shq_error_log"
	masterLog = "public.shq_master_error_log"
	orphans   = "public.shq_orphan_errors"
	letters   = "pipeline.dead_letters"
)
