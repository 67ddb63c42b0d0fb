package postgres

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/store/sqlops"
)

// TakeAll takes every connection that is not kept for what is vital.
func (s *Store) TakeAll(ctx context.Context) (giveBack func(), err error) {
	conns := s.pool.AcquireAllIdle(ctx)
	for int32(len(conns)) < s.pool.Config().MaxConns {
		conn, err := s.pool.Acquire(ctx)
		if err != nil {
			return nil, err
		}
		conns = append(conns, conn)
	}
	return func() {
		for _, conn := range conns {
			conn.Release()
		}
	}, nil
}

// Planned is a statement whose plan is to be looked at.
type Planned struct {
	Name string
	SQL  string
	Args []any
}

// PlannedStatements returns what verbs run against tables that grow.
func (s *Store) PlannedStatements(now time.Time, size int, tables []string, entity, code string, id recoup.ID) []Planned {
	keys := []string{entity}
	list := []Planned{
		{"claim", s.sql.claim, []any{tables, now, size, [][]byte{}}},
		{"unclaimed", selectUnclaimed, []any{tables, now, size}},
		{"find what reports replace", s.sql.findKeys, []any{tables[:1], keys, []string{code}}},
		{"lock what is queued", s.sql.lockDue, []any{[][]byte{id[:]}}},
		{"lock what is stepped", s.sql.lockIDs, []any{[][]byte{id[:]}}},
		{"read what is stepped", s.sql.readIDs, []any{[][]byte{id[:]}}},
		{"look into the archive", s.sql.archived, []any{[][]byte{id[:]}}},
		plannedAs("what blocks", 0, func(v sqlops.Ops) { _, _, _ = v.Promote(context.Background(), store.Promotion{Entity: entity}) }),
	}
	for _, d := range []store.Deadline{store.DueExpiry, store.DueWindow, store.DueLapse, store.DueEscalation, store.DueReminder, store.DueResolved} {
		list = append(list, planned("due by "+string(d), func(v sqlops.Ops) { _, _ = v.Due(context.Background(), d, now, 0, size) }))
	}
	var found []recoup.ID // as the test has made them
	for i := range 8 {
		var group recoup.ID
		group[15] = byte(4*i/10<<4 | 4*i%10)
		found = append(found, group)
	}
	cursor := sqldb.Cursor{At: now.Add(-24 * time.Hour), ID: id}
	for name, f := range map[string]store.Filter{
		"all": {}, "table": {Table: tables[0]}, "hub": {Tables: tables[:2]}, "entity": {Entity: entity},
		"parked": {Parked: new(true)}, "parked in a table": {Table: tables[0], State: recoup.Parked}, "assigned": {AssignedTo: "ada"},
		"blocking": {Blocking: new(true)}, "not blocking": {Blocking: new(false)}, "not parked": {Parked: new(false)}, "pending": {State: recoup.RetryPending}, "resolved": {State: recoup.Resolved},
		"a rare code": {Code: "RARE"}, "a rare code in a table": {Table: tables[1], Code: "RARE"}, "a code": {Code: recoup.Code(code)},
		"the top tier": {Tier: 3}, "the top tier, parked": {Tier: 3, Parked: new(true)}, "a tier": {Tier: 2, Parked: new(true)},
		"what was searched": {Text: "x", Groups: found}, "what was searched, retried": {Text: "x", Groups: found, State: recoup.RetryPending},
	} {
		for at, page := range map[string]sqldb.Page{"": {Limit: size}, ", further on": {Limit: size, Cursor: cursor}} {
			list = append(list, planned("list "+name+at, func(v sqlops.Ops) { _, _, _ = v.Errors(context.Background(), f, page) }))
		}
	}
	for at, page := range map[string]sqldb.Page{"": {Limit: size}, ", further on": {Limit: size, Cursor: cursor}} {
		list = append(list, planned("park queue"+at, func(v sqlops.Ops) { _, _, _ = v.ParkQueue(context.Background(), tables[:2], page) }))
	}
	return list
}

// ErrorColumnNames returns the columns that errors and archived errors are
// moved with.
func ErrorColumnNames() (errors, archive []string) {
	for _, c := range errorColumns() {
		errors = append(errors, c.name)
	}
	for _, c := range archiveColumns() {
		archive = append(archive, c.name)
	}
	return errors, archive
}

// Together returns the statements that claim and record by decisions that were made
// before, as far as they were needed yet.
func (s *Store) Together() []string {
	list := []string{claimDue}
	for _, made := range s.failureStatements.made {
		list = append(list, made.sql)
	}
	return list
}

// GateStatement is how a node asks for one gate.
func GateStatement(others ...Blockers) string { return newGateCheck(others).one }
