package store

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup/server/internal/policy"
)

// Inspector shows a database to the doctor.
type Inspector interface {
	// Inspect gathers facts, and judges nothing. It changes nothing, and no question
	// runs for longer than a few seconds or reads more rows than the inspection says.
	// What it may not see, or could not in time, is among Facts.Unseen. A nil policy
	// means that none was ever in force.
	Inspect(ctx context.Context, i Inspection) (Facts, error)
}

// SchemaRepairer repairs a schema.
type SchemaRepairer interface {
	// Repair runs statements in order, each in a transaction of its own and with a
	// short wait for locks. The statements are those of a fix, never a caller's.
	Repair(ctx context.Context, statements []string) error
}

// Inspection is what to look at.
type Inspection struct {
	Policy *policy.Policy
	Now    time.Time // by the node's clock
	Sample int       // rows that are read of a table to hold it to its invariants; zero: DefaultSample
}

// What the doctor's acts are called in the audit.
const (
	ActBackup    = "database.backup"
	ActDoctorFix = "doctor.fix"
)

// DefaultSample is how many rows of a table are read from either end.
const DefaultSample = 5000
