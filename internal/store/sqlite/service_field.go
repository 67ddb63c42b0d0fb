package sqlite

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"time"

	"recoup"
	"recoup/internal/store"
)

// The kinds of fields that only the service's tables have.
type (
	bigint  struct{ to *int64 }
	elapsed struct{ to *time.Duration } // microseconds
	blob    struct{ to *[]byte }        // none are null
	hash    struct{ to *[32]byte }
	words   struct{ to *[]string } // JSON
)

func (f bigint) Value() (driver.Value, error) { return *f.to, nil }

func (f bigint) Scan(src any) error {
	v, ok := src.(int64)
	if !ok {
		return unreadable(src, "a number")
	}
	*f.to = v
	return nil
}

func (f elapsed) Value() (driver.Value, error) { return f.to.Microseconds(), nil }

func (f elapsed) Scan(src any) error {
	v, ok := src.(int64)
	if !ok {
		return unreadable(src, "a duration")
	}
	*f.to = time.Duration(v) * time.Microsecond
	return nil
}

func (f blob) Value() (driver.Value, error) {
	if len(*f.to) == 0 {
		return nil, nil
	}
	return *f.to, nil
}

func (f blob) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*f.to = nil
	case []byte:
		*f.to = bytes.Clone(v)
	default:
		return unreadable(src, "bytes")
	}
	return nil
}

func (f hash) Value() (driver.Value, error) { return f.to[:], nil }

func (f hash) Scan(src any) error {
	v, ok := src.([]byte)
	if !ok || len(v) != len(f.to) {
		return unreadable(src, "a hash")
	}
	*f.to = [32]byte(v)
	return nil
}

func (f words) Value() (driver.Value, error) {
	b, err := json.Marshal(append([]string{}, *f.to...))
	return string(b), err
}

func (f words) Scan(src any) error {
	v, ok := src.(string)
	if !ok {
		return unreadable(src, "a list")
	}
	if *f.to = nil; v == "[]" {
		return nil
	}
	return json.Unmarshal([]byte(v), f.to)
}

// The columns of the service's tables. The functions below return the fields
// they belong to, in the same order.
const (
	receiptColumns     = `scope, key, request_hash, answer, created_at, expires_at`
	keyColumns         = `key_id, name, role, hubs, hint, key_hash, created_at, created_by, expires_at, revoked_at, revoked_by, last_used_at, rotated_to`
	auditColumns       = `at, actor, key_id, act, target, reason, details` // and a number, which the database draws
	policyColumns      = `number, version, hash, added_at, added_by, reason, text`
	platformKeyColumns = `key_id, purpose, secret, created_at, wrapped_by`
	termColumns        = `name, number, holder, ends_at`
	jobColumns         = `name, started_at, finished_at, row_count, lag_us, cursor, error, runs, failures`
	pendingColumns     = `notice_id, kind, recipient, error_id, dedup_key, body, created_at, due_at, attempts`
)

func receiptFields(r *store.StoredReceipt) []any {
	return []any{&r.Scope, &r.Key, hash{&r.Hash}, blob{&r.Answer}, stamp{&r.CreatedAt}, stamp{&r.ExpiresAt}}
}

func keyFields(k *store.Key) []any {
	return []any{
		id{&k.ID}, text[string]{&k.Name}, text[string]{&k.Role}, words{&k.Hubs}, text[string]{&k.Hint}, hash{&k.Hash},
		stamp{&k.CreatedAt}, text[string]{&k.CreatedBy}, stamp{&k.ExpiresAt}, stamp{&k.RevokedAt}, text[string]{&k.RevokedBy},
		stamp{&k.LastUsedAt}, id{&k.RotatedTo},
	}
}

func auditFields(e *store.AuditEntry) []any {
	return []any{
		stamp{&e.At}, text[string]{&e.Actor}, id{&e.Key}, text[string]{&e.Act}, text[string]{&e.Target}, text[string]{&e.Reason},
		text[store.JSON]{&e.Details},
	}
}

func policyFields(v *store.PolicyVersion) []any {
	return append(policyHeadFields(v), text[string]{&v.Text})
}

// policyHeadFields are those without the text, which lists leave out.
func policyHeadFields(v *store.PolicyVersion) []any {
	return []any{
		bigint{&v.Number}, text[string]{&v.Version}, hash{&v.Hash}, stamp{&v.At}, text[string]{&v.By}, text[string]{&v.Reason},
	}
}

func platformKeyFields(k *store.PlatformKey) []any {
	return []any{text[string]{&k.ID}, text[string]{&k.Purpose}, blob{&k.Secret}, stamp{&k.CreatedAt}, text[string]{&k.WrappedBy}}
}

func termFields(t *store.Term) []any {
	return []any{text[string]{&t.Name}, bigint{&t.Number}, text[string]{&t.Holder}, stamp{&t.Until}}
}

func jobFields(j *store.Job) []any {
	return []any{
		text[string]{&j.Name}, stamp{&j.StartedAt}, stamp{&j.FinishedAt}, bigint{&j.Rows}, elapsed{&j.Lag},
		text[string]{&j.Cursor}, text[string]{&j.Error}, bigint{&j.Runs}, bigint{&j.Failures},
	}
}

func pendingFields(n *store.PendingNotice) []any {
	return []any{
		id{&n.ID}, text[recoup.NoticeKind]{&n.Kind}, text[string]{&n.To}, id{&n.ErrorID}, text[string]{&n.Key},
		text[store.JSON]{&n.Body}, stamp{&n.CreatedAt}, stamp{&n.DueAt}, number{&n.Attempts},
	}
}
