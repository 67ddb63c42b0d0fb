package store_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Every field of a row has its column: what one row holds in all of them is all
// that another has to be given to be the same.
func TestRowsCoverTheirTypes(t *testing.T) {
	t.Parallel()
	covers(t, sqldb.Table[recoup.Error]{Name: "an error", Columns: slices.Concat(store.OpenErrors.Columns, store.Leases, store.Archiving)})
	covers(t, store.History)
	covers(t, store.Keys, "Secret")
	covers(t, store.PolicyVersions)
	covers(t, store.PlatformKeys)
	covers(t, store.Audits)
	covers(t, store.Terms)
	covers(t, store.Jobs)
	covers(t, store.Heartbeats)
	covers(t, store.Alerts, "Silenced")
	covers(t, store.Silences)
	covers(t, store.Providers, "Members")
	covers(t, store.Notices, "State", "Channel", "CopyOf", "Message")
	covers(t, store.StoredReceipts)
	covers(t, store.Batches, "WindowDays", "Killed")
	covers(t, store.Intakes)
	covers(t, store.Recoveries, "CompanyName", "Inconclusive", "LeaseWorker", "LeaseEndsAt", "BatchKilled", "BatchFrozen")
	covers(t, store.RecoveryLeases)
	covers(t, store.AIRs, "Inconclusive")
	covers(t, store.Events, "Tenant", "Timeless", "Details")
	covers(t, store.Activities)
	covers(t, store.DeadLetters, "DeadLetterStatus")
	covers(t, store.Rounds)
	covers(t, store.Notes)
	covers(t, store.Groups, "Open", "Total")
	covers(t, store.Payloads)
	covers(t, store.Checkpoints)
	covers(t, store.WorkQueue, "Repeated")
	covers(t, store.Pauses)
	covers(t, store.Replays, "Step", "Counts")
	covers(t, store.ReplayItems)
	covers(t, sqldb.Table[store.Case]{Name: "a case", Columns: store.Cases},
		"WindowDays", "Killed", "Inconclusive", "Recovery.CompanyName", "Recovery.LeaseWorker", "Recovery.LeaseEndsAt", "BatchKilled", "BatchFrozen")
}

// covers fills a row and copies it column by column. Fields that are kept
// elsewhere, or nowhere, are named, with their type where others have the same.
func covers[R any](t *testing.T, table sqldb.Table[R], but ...string) {
	t.Helper()
	var from, to R
	fill(reflect.ValueOf(&from).Elem(), new(int), but)
	seen := map[string]bool{}
	for _, c := range table.Columns {
		if seen[c.Name] {
			t.Errorf("%s has two columns %s", table.Name, c.Name)
		}
		seen[c.Name] = true
		move(t, c, &from, &to)
	}
	if !reflect.DeepEqual(from, to) {
		t.Errorf("%s: got\n%+v, want\n%+v", table.Name, to, from)
	}
}

func move[R any](t *testing.T, c sqldb.Column[R], from, to *R) {
	t.Helper()
	switch c.Kind {
	case sqldb.KindText, sqldb.KindWord, sqldb.KindJSON:
		*c.Text(to) = *c.Text(from)
	case sqldb.KindID:
		*c.ID(to) = *c.ID(from)
	case sqldb.KindTime:
		*c.Time(to) = *c.Time(from)
	case sqldb.KindBool:
		*c.Bool(to) = *c.Bool(from)
	case sqldb.KindInt, sqldb.KindCount:
		*c.Int(to) = *c.Int(from)
	case sqldb.KindBig:
		c.Number(to).Set(c.Number(from).Get())
	case sqldb.KindReal:
		*c.Real(to) = *c.Real(from)
	case sqldb.KindBytes:
		*c.Bytes(to) = *c.Bytes(from)
	case sqldb.KindHash:
		*c.Hash(to) = *c.Hash(from)
	case sqldb.KindObject:
		value, err := c.Object(from).Encode()
		if err != nil {
			t.Fatal(err)
		}
		if value == nil {
			return // NULL is read as zero
		}
		if err := c.Object(to).Decode(value); err != nil {
			t.Fatal(err)
		}
	}
}

// fill gives every field a value of its own, so that no two can be confused.
func fill(v reflect.Value, n *int, but []string) {
	*n++
	switch at := v.Addr().Interface().(type) {
	case *time.Time:
		*at = time.Unix(int64(*n), 0).UTC()
		return
	case *time.Duration:
		*at = time.Duration(*n) * time.Microsecond
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("v" + string(rune('a'+*n)))
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(int64(*n))
	case reflect.Uint8:
		v.SetUint(uint64(*n % 256))
	case reflect.Float64:
		v.SetFloat(float64(*n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n, but)
		fill(v.Index(1), n, but)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), n, but)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if !slices.Contains(but, name) && !slices.Contains(but, v.Type().Name()+"."+name) {
				fill(v.Field(i), n, but)
			}
		}
	}
}
