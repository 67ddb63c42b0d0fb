package postgres

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"recoup"
	"recoup/internal/store"
)

// The kinds of columns that only the service's tables have.
func bigintKind() kind { return kind{"int8", pgtype.Int8OID, pgtype.Int8ArrayOID} }
func byteaKind() kind  { return kind{"bytea", pgtype.ByteaOID, pgtype.ByteaArrayOID} }
func jsonKind() kind   { return kind{"json", pgtype.JSONOID, pgtype.JSONArrayOID} }

func bigint[R any, T ~int64](name string, at func(*R) *T) column[R] {
	return column[R]{name, bigintKind(),
		func(buf []byte, r *R) []byte { return binary.BigEndian.AppendUint64(buf, uint64(*at(r))) },
		func(r *R, value []byte) error {
			n, err := integer(name, value)
			*at(r) = T(n)
			return err
		},
		func(a, b *R) bool { return *at(a) == *at(b) }, nil,
	}
}

// elapsed is a duration, kept in microseconds.
func elapsed[R any](name string, at func(*R) *time.Duration) column[R] {
	c := bigint(name, at)
	c.write = func(buf []byte, r *R) []byte { return binary.BigEndian.AppendUint64(buf, uint64(at(r).Microseconds())) }
	c.read = func(r *R, value []byte) error {
		n, err := integer(name, value)
		*at(r) = time.Duration(n) * time.Microsecond
		return err
	}
	return c
}

// blob is bytes; none are NULL.
func blob[R any](name string, at func(*R) *[]byte) column[R] {
	return column[R]{name, byteaKind(),
		func(buf []byte, r *R) []byte { return append(buf, *at(r)...) },
		func(r *R, value []byte) error { *at(r) = bytes.Clone(value); return nil },
		func(a, b *R) bool { return bytes.Equal(*at(a), *at(b)) }, nil,
	}
}

// hash is a SHA-256.
func hash[R any](name string, at func(*R) *[32]byte) column[R] {
	return column[R]{name, byteaKind(),
		func(buf []byte, r *R) []byte { return append(buf, at(r)[:]...) },
		func(r *R, value []byte) error {
			if copy(at(r)[:], value) != len(at(r)) {
				return fmt.Errorf("column %s holds no hash", name)
			}
			return nil
		},
		func(a, b *R) bool { return *at(a) == *at(b) }, nil,
	}
}

// jsonText is a JSON text that is kept as it was written.
func jsonText[R any](name string, at func(*R) *store.JSON) column[R] {
	c := text(name, at)
	c.kind = jsonKind()
	return c
}

// words is a list of texts, kept as JSON.
func words[R any](name string, at func(*R) *[]string) column[R] {
	return column[R]{name, jsonbKind(),
		func(buf []byte, r *R) []byte {
			list, err := json.Marshal(append([]string{}, *at(r)...))
			if err != nil {
				return buf // texts never fail
			}
			return append(append(buf, 1), list...) // jsonb begins with its version
		},
		func(r *R, value []byte) error {
			if err := json.Unmarshal(value, at(r)); err != nil {
				return fmt.Errorf("column %s: %w", name, err)
			}
			if len(*at(r)) == 0 {
				*at(r) = nil
			}
			return nil
		},
		func(a, b *R) bool { return slices.Equal(*at(a), *at(b)) }, nil,
	}
}

// The columns of the service's tables and where each belongs.
var (
	receiptColumns = func() []column[store.StoredReceipt] {
		type r = store.StoredReceipt
		return []column[r]{
			text("scope", func(r *r) *string { return &r.Scope }),
			text("key", func(r *r) *string { return &r.Key }),
			hash("request_hash", func(r *r) *[32]byte { return &r.Hash }),
			blob("answer", func(r *r) *[]byte { return &r.Answer }),
			stamp("created_at", func(r *r) *time.Time { return &r.CreatedAt }),
			stamp("expires_at", func(r *r) *time.Time { return &r.ExpiresAt }),
		}
	}()

	keyColumns = func() []column[store.Key] {
		type k = store.Key
		return []column[k]{
			id("key_id", func(k *k) *recoup.ID { return &k.ID }),
			text("name", func(k *k) *string { return &k.Name }),
			text("role", func(k *k) *string { return &k.Role }),
			words("hubs", func(k *k) *[]string { return &k.Hubs }),
			text("hint", func(k *k) *string { return &k.Hint }),
			hash("key_hash", func(k *k) *[32]byte { return &k.Hash }),
			stamp("created_at", func(k *k) *time.Time { return &k.CreatedAt }),
			text("created_by", func(k *k) *string { return &k.CreatedBy }),
			stamp("expires_at", func(k *k) *time.Time { return &k.ExpiresAt }),
			stamp("revoked_at", func(k *k) *time.Time { return &k.RevokedAt }),
			text("revoked_by", func(k *k) *string { return &k.RevokedBy }),
			stamp("last_used_at", func(k *k) *time.Time { return &k.LastUsedAt }),
			id("rotated_to", func(k *k) *recoup.ID { return &k.RotatedTo }),
		}
	}()

	// auditColumns are those but the number, which the database draws.
	auditColumns = func() []column[store.AuditEntry] {
		type a = store.AuditEntry
		return []column[a]{
			stamp("at", func(a *a) *time.Time { return &a.At }),
			text("actor", func(a *a) *string { return &a.Actor }),
			id("key_id", func(a *a) *recoup.ID { return &a.Key }),
			text("act", func(a *a) *string { return &a.Act }),
			text("target", func(a *a) *string { return &a.Target }),
			text("reason", func(a *a) *string { return &a.Reason }),
			jsonText("details", func(a *a) *store.JSON { return &a.Details }),
		}
	}()

	// policyColumns end with the text, which lists leave out.
	policyColumns = func() []column[store.PolicyVersion] {
		type v = store.PolicyVersion
		return []column[v]{
			bigint("number", func(v *v) *int64 { return &v.Number }),
			text("version", func(v *v) *string { return &v.Version }),
			hash("hash", func(v *v) *[32]byte { return &v.Hash }),
			stamp("added_at", func(v *v) *time.Time { return &v.At }),
			text("added_by", func(v *v) *string { return &v.By }),
			text("reason", func(v *v) *string { return &v.Reason }),
			text("text", func(v *v) *string { return &v.Text }),
		}
	}()

	platformKeyColumns = func() []column[store.PlatformKey] {
		type k = store.PlatformKey
		return []column[k]{
			text("key_id", func(k *k) *string { return &k.ID }),
			text("purpose", func(k *k) *string { return &k.Purpose }),
			blob("secret", func(k *k) *[]byte { return &k.Secret }),
			stamp("created_at", func(k *k) *time.Time { return &k.CreatedAt }),
			text("wrapped_by", func(k *k) *string { return &k.WrappedBy }),
		}
	}()

	termColumns = func() []column[store.Term] {
		type t = store.Term
		return []column[t]{
			text("name", func(t *t) *string { return &t.Name }),
			bigint("number", func(t *t) *int64 { return &t.Number }),
			text("holder", func(t *t) *string { return &t.Holder }),
			stamp("ends_at", func(t *t) *time.Time { return &t.Until }),
		}
	}()

	jobColumns = func() []column[store.Job] {
		type j = store.Job
		return []column[j]{
			text("name", func(j *j) *string { return &j.Name }),
			stamp("started_at", func(j *j) *time.Time { return &j.StartedAt }),
			stamp("finished_at", func(j *j) *time.Time { return &j.FinishedAt }),
			bigint("row_count", func(j *j) *int64 { return &j.Rows }),
			elapsed("lag_us", func(j *j) *time.Duration { return &j.Lag }),
			text("cursor", func(j *j) *string { return &j.Cursor }),
			text("error", func(j *j) *string { return &j.Error }),
			bigint("runs", func(j *j) *int64 { return &j.Runs }),
			bigint("failures", func(j *j) *int64 { return &j.Failures }),
		}
	}()

	pendingColumns = func() []column[store.PendingNotice] {
		type n = store.PendingNotice
		return []column[n]{
			id("notice_id", func(n *n) *recoup.ID { return &n.ID }),
			text("kind", func(n *n) *recoup.NoticeKind { return &n.Kind }),
			text("recipient", func(n *n) *string { return &n.To }),
			id("error_id", func(n *n) *recoup.ID { return &n.ErrorID }),
			text("dedup_key", func(n *n) *string { return &n.Key }),
			jsonText("body", func(n *n) *store.JSON { return &n.Body }),
			stamp("created_at", func(n *n) *time.Time { return &n.CreatedAt }),
			stamp("due_at", func(n *n) *time.Time { return &n.DueAt }),
			number("attempts", func(n *n) *int { return &n.Attempts }),
		}
	}()
)
