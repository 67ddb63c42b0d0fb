package api

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/recoup-dev/recoup/fault"
)

const (
	databaseName = "neon_primary"

	// databasePause is what a database needs to come back.
	databasePause = 30 * time.Second
)

// database stands for the database of a real service: it takes a connection,
// which may fail, and runs transactions one after the other.
type database struct {
	failures *Failures
	mu       sync.Mutex
	tables   tables
}

// tables are the records, by their uid.
type tables struct {
	sequence  map[string]int
	companies map[string]company
	websites  map[string]string // which company has it
	people    map[string]*person
	slots     map[string]*slot
}

func newDatabase(failures *Failures) *database {
	return &database{failures: failures, tables: tables{
		sequence: map[string]int{}, companies: map[string]company{}, websites: map[string]string{},
		people: map[string]*person{}, slots: map[string]*slot{},
	}}
}

// transact runs work on the tables, alone. Work that fails must not have
// changed anything.
func (d *database) transact(ctx context.Context, work func(*tables) error) error {
	fault.Annotate(ctx, func(known *fault.Annotations) { known.DatabaseShard = databaseName })
	if err := d.connect(); err != nil {
		return unavailable(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return work(&d.tables)
}

// connect fails as a driver's pool does: here, with a dial that timed out.
// fault.OnAcquire says where it happened: nothing was sent yet.
func (d *database) connect() error {
	if !d.failures.On(Database) {
		return nil
	}
	return fault.OnAcquire(&net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded})
}

// unavailable puts what the driver said into the words of the contract. What it
// said goes to the log as the cause.
func unavailable(err error) error {
	verdict := fault.Classify(err)
	return verdict.Wrap(err, "The database cannot be reached.").
		With("database", databaseName).
		With("retry_recommended", verdict.Retryable()).
		After(databasePause)
}

// uid makes the next identifier of a kind: its letters, the day, a number.
func (t *tables) uid(kind string, now time.Time) string {
	prefix := kind + now.UTC().Format("-20060102-")
	t.sequence[prefix]++
	return fmt.Sprintf("%s%06d", prefix, t.sequence[prefix])
}

func (t *tables) company(uid string) (company, error) {
	if found, ok := t.companies[uid]; ok {
		return found, nil
	}
	return company{}, fault.New(fault.CodeCompanyNotFound, "There is no such company.").
		With("company_uid", uid).
		With("suggestion", "Check company_uid, or create the company before what refers to it.")
}

func (t *tables) person(uid string) (*person, error) {
	if found, ok := t.people[uid]; ok {
		return found, nil
	}
	return nil, fault.New(CodePersonNotFound, "There is no such person.").With("person_uid", uid)
}

func (t *tables) slot(uid string) (*slot, error) {
	if found, ok := t.slots[uid]; ok {
		return found, nil
	}
	return nil, fault.New(CodeSlotNotFound, "There is no such slot.").With("slot_uid", uid)
}
