package store

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Keys describes the rows of keys.
var Keys = sqldb.Table[wire.Key]{Name: "recoup.api_key", Columns: []sqldb.Column[wire.Key]{
	sqldb.ID("key_id", func(k *wire.Key) *recoup.ID { return &k.ID }).Key(),
	sqldb.Text("name", func(k *wire.Key) *string { return &k.Name }).Fixed(),
	sqldb.Text("role", func(k *wire.Key) *string { return &k.Role }).Fixed(),
	sqldb.List("hubs", func(k *wire.Key) *[]string { return &k.Hubs }).Fixed(),
	sqldb.Text("hint", func(k *wire.Key) *string { return &k.Hint }).Fixed(),
	sqldb.Hash("key_hash", func(k *wire.Key) *[32]byte { return &k.Hash }).Fixed().Unique(),
	sqldb.Time("created_at", func(k *wire.Key) *time.Time { return &k.CreatedAt }).Fixed(),
	sqldb.Text("created_by", func(k *wire.Key) *string { return &k.CreatedBy }).Fixed(),
	sqldb.Time("expires_at", func(k *wire.Key) *time.Time { return &k.ExpiresAt }),
	sqldb.Time("revoked_at", func(k *wire.Key) *time.Time { return &k.RevokedAt }),
	sqldb.Text("revoked_by", func(k *wire.Key) *string { return &k.RevokedBy }),
	sqldb.Time("last_used_at", func(k *wire.Key) *time.Time { return &k.LastUsedAt }),
	sqldb.ID("rotated_to", func(k *wire.Key) *recoup.ID { return &k.RotatedTo }),
}}

// CreateKey returns a key as the act makes it: new, and by whoever acts.
func (a Act) CreateKey(k wire.Key) wire.Key {
	k.CreatedAt, k.CreatedBy, k.ExpiresAt = kept(a.At), a.By, kept(k.ExpiresAt)
	k.RevokedAt, k.RevokedBy, k.LastUsedAt, k.RotatedTo = time.Time{}, "", time.Time{}, recoup.ID{}
	return k
}

// kept is a time as stores keep it.
func kept(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// RevokeKey returns a key as the act ends it. The first time stands.
func (a Act) RevokeKey(k wire.Key) wire.Key {
	if k.RevokedAt.IsZero() {
		k.RevokedAt, k.RevokedBy = kept(a.At), a.By
	}
	return k
}

// RotateKey returns a key as it is once another takes over: it lasts until a
// time, or until its own end if that comes first. A key that is revoked or has a
// successor has none to name any more: ErrConflict.
func RotateKey(k wire.Key, to recoup.ID, ends time.Time) (wire.Key, error) {
	if !k.RevokedAt.IsZero() || !k.RotatedTo.IsZero() {
		return k, ErrConflict
	}
	k.RotatedTo = to
	if k.ExpiresAt.IsZero() || ends.Before(k.ExpiresAt) {
		k.ExpiresAt = kept(ends)
	}
	return k, nil
}

// AboutKey describes a key for the audit.
func AboutKey(k *wire.Key) map[string]any {
	about := map[string]any{"name": k.Name, "role": k.Role}
	if len(k.Hubs) > 0 {
		about["hubs"] = k.Hubs
	}
	if !k.ExpiresAt.IsZero() {
		about["expires_at"] = k.ExpiresAt.UTC().Format(time.RFC3339Nano)
	}
	return about
}

// PolicyVersions describes the rows of policies.
var PolicyVersions = sqldb.Table[wire.PolicyVersion]{Name: "recoup.policy_version", Columns: []sqldb.Column[wire.PolicyVersion]{
	sqldb.Big("number", func(p *wire.PolicyVersion) *int64 { return &p.Number }).Key(),
	sqldb.Text("version", func(p *wire.PolicyVersion) *string { return &p.Version }).Fixed(),
	sqldb.Hash("hash", func(p *wire.PolicyVersion) *[32]byte { return &p.Hash }).Fixed(),
	sqldb.Time("added_at", func(p *wire.PolicyVersion) *time.Time { return &p.At }).Fixed(),
	sqldb.Text("added_by", func(p *wire.PolicyVersion) *string { return &p.By }).Fixed(),
	sqldb.Text("reason", func(p *wire.PolicyVersion) *string { return &p.Reason }).Fixed(),
	sqldb.Text("text", func(p *wire.PolicyVersion) *string { return &p.Text }).Fixed(),
}}

// AddPolicy returns a policy as the act adds it, without its number.
func (a Act) AddPolicy(v wire.PolicyVersion) wire.PolicyVersion {
	v.Hash, v.At, v.By, v.Reason = sha256.Sum256([]byte(v.Text)), kept(a.At), a.By, a.Reason
	return v
}

// NextPolicy decides whether a policy is added to a history that ends with current,
// in which its version is known or not.
func NextPolicy(v, current wire.PolicyVersion, known bool) (next wire.PolicyVersion, added bool, err error) {
	switch {
	case current.Number > 0 && current.Text == v.Text:
		return current, false, nil
	case known:
		return wire.PolicyVersion{}, false, ErrConflict
	}
	v.Number = current.Number + 1
	return v, true, nil
}

// PlatformKey is a secret of the platform itself: what tenants are hashed or
// payloads are encrypted with. The secret is opaque here; its owner has encrypted it.
// A deleted key leaves its id behind, which is never used again, because what it
// was used for still names it.
type PlatformKey struct {
	ID        string
	Purpose   string
	Secret    []byte
	CreatedAt time.Time
	WrappedBy string // the key, kept elsewhere, that the secret is encrypted with; empty: it is plaintext
}

// PlatformKeys describes the rows of platform keys.
var PlatformKeys = sqldb.Table[PlatformKey]{Name: "recoup.platform_key", Columns: []sqldb.Column[PlatformKey]{
	sqldb.Text("key_id", func(p *PlatformKey) *string { return &p.ID }).Key(),
	sqldb.Text("purpose", func(p *PlatformKey) *string { return &p.Purpose }).Fixed(),
	sqldb.Bytes("secret", func(p *PlatformKey) *[]byte { return &p.Secret }),
	sqldb.Time("created_at", func(p *PlatformKey) *time.Time { return &p.CreatedAt }).Fixed(),
	sqldb.Text("wrapped_by", func(p *PlatformKey) *string { return &p.WrappedBy }),
}}

// ErrOtherWrap is returned for a platform key beside live keys that are wrapped by
// another key than it is, or while it is plaintext: no node could use both. It
// is a kind of [ErrRefused].
var ErrOtherWrap = fmt.Errorf("%w: live platform keys are wrapped by another key", ErrRefused)

// Made returns the key as its act adds it.
func (k PlatformKey) Made(act Act) PlatformKey {
	k.CreatedAt = kept(act.At)
	return k
}

// Processed is how much a service has done for a table in a minute, or, as a
// sum, in a longer time: the denominator of error rates (spec 000, 11.1).
type Processed struct {
	Minute   time.Time // its beginning; zero in a sum
	Table    string
	Service  string
	N        int64
	Failed   int64
	Duration time.Duration // of all together

	// FailedDuration is how much of it went into what failed.
	FailedDuration time.Duration
}

// ProcessedFilter selects counts. Empty fields do not restrict.
type ProcessedFilter struct{ Table, Service string }

// Minute returns the beginning of the minute, in UTC.
func Minute(t time.Time) time.Time { return t.UTC().Truncate(time.Minute) }

// Minutes returns the span that the minutes make up which begin in s.
func (s Span) Minutes() Span { return Span{minuteFrom(s.From), minuteFrom(s.To)} }

// minuteFrom is the first minute that begins at a time or later.
func minuteFrom(t time.Time) time.Time {
	if m := Minute(t); !m.Before(t) {
		return m
	}
	return Minute(t).Add(time.Minute)
}

// Message is notices that are sent together. One of them stands for it: the id of the
// message is its own.
type Message struct {
	ID      recoup.ID
	Notices []ClaimedNotice
	Body    recoup.JSON // what is sent, and where; the store does not read it
}

// ClaimedNotice is a notice as somebody holds it.
type ClaimedNotice struct {
	ID      recoup.ID
	Attempt int // which; a later one makes it void
}

// Delivery is what became of an attempt to deliver a notice, or a message if the notice
// stands for one.
type Delivery struct {
	ID        recoup.ID
	Attempt   int // which; a later one makes it void
	Delivered bool
	RetryAt   time.Time // of one that failed; zero: it is given up
	Error     string
	Copies    []wire.Notice // that take its place, due at once
}
