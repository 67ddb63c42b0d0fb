package pgtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// ShiftClock lets the database's own clock, by which acts are judged, run ahead of
// the server's by a time, or behind it. Only the owner of the schema can.
func ShiftClock(t testing.TB, ownerURL string, by time.Duration) {
	t.Helper()
	if err := replaceClock(t.Context(), ownerURL, fmt.Sprintf("clock_timestamp() + %d * interval '1 microsecond'", by.Microseconds())); err != nil {
		t.Fatal(err)
	}
}

// StopClock lets the database's own clock stand at a time.
func StopClock(t testing.TB, ownerURL string, at time.Time) {
	t.Helper()
	if err := replaceClock(t.Context(), ownerURL, "timestamptz '"+at.UTC().Format(time.RFC3339Nano)+"'"); err != nil {
		t.Fatal(err)
	}
}

func replaceClock(ctx context.Context, ownerURL, expression string) error {
	return define(ctx, ownerURL, "recoup.clock() returns timestamptz language sql volatile as $$select "+expression+"$$")
}

// define replaces a function, as only the owner of the schema can.
func define(ctx context.Context, ownerURL, function string) error {
	conn, err := pgx.Connect(ctx, ownerURL)
	if err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	_, err = conn.Exec(ctx, "create or replace function "+function)
	if err != nil {
		return fmt.Errorf("pgtest: set the clock: %w", err)
	}
	return nil
}

// forever is how far from the database's clock tests may live that bring their own
// time along: guards let them. Those of a database that a test migrates do not.
const forever = "1000 years"

// HoldToClock lets the guards of a database refuse times that are not those of its
// clock, as they do outside of tests.
func HoldToClock(t testing.TB, ownerURL string) {
	t.Helper()
	if err := tolerate(t.Context(), ownerURL, "1 minute"); err != nil {
		t.Fatal(err)
	}
}

// OwnTime lets a test that has migrated a database bring its own time along.
func OwnTime(t testing.TB, ownerURL string) {
	t.Helper()
	if err := tolerate(t.Context(), ownerURL, forever); err != nil {
		t.Fatal(err)
	}
}

func tolerate(ctx context.Context, ownerURL, howMuch string) error {
	return define(ctx, ownerURL, "recoup.tolerance() returns interval language sql stable as $$select interval '"+howMuch+"'$$")
}
