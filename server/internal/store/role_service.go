package store

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// KeyReader returns API keys: who may use the service. A key is never deleted; what it is and
// who made it never changes.
type KeyReader interface {
	// KeyByHash returns the key with the hash of a secret, valid or not, else
	// ErrNotFound. Only a key that the caller knows is read on connections that are
	// reserved: secrets can be made up.
	KeyByHash(ctx context.Context, hash [32]byte, known bool) (wire.Key, error)

	// TouchKeys notes when keys were used last. It never goes back, and ids that
	// are unknown are passed over. It is no act.
	TouchKeys(ctx context.Context, used map[recoup.ID]time.Time) error
}

// KeyWriter changes keys. Every verb that takes an [Act] is one transaction, and
// writes in the same commit one row of the audit if it changed anything.
type KeyWriter interface {
	// CreateKey adds a key, by whoever acts. An id or a secret that is known
	// already is ErrConflict.
	CreateKey(ctx context.Context, k wire.Key, act Act) (wire.Key, error)

	// Keys lists keys, newest first.
	Keys(ctx context.Context, p sqldb.Page) ([]wire.Key, sqldb.Cursor, error)

	// RevokeKey ends a key for good and returns it as it is then. The first
	// revocation stands. An unknown id is ErrNotFound.
	RevokeKey(ctx context.Context, id recoup.ID, act Act) (wire.Key, error)

	// RotateKey adds a key that takes over from another, which then ends at a
	// time, or at its own end if that comes first. One that is revoked or has a
	// successor is ErrConflict.
	RotateKey(ctx context.Context, old recoup.ID, next wire.Key, oldEnds time.Time, act Act) (wire.Key, error)
}

// FirstKeyWriter makes the first key.
type FirstKeyWriter interface {
	// CreateFirstKey adds a key if there is none at all, and reports whether it
	// did. Of any number of nodes that try at once, one does.
	CreateFirstKey(ctx context.Context, k wire.Key, act Act) (bool, error)
}

// AuditWriter keeps who did what. Rows are only ever added.
type AuditWriter interface {
	// AppendAudit writes down acts that no verb of the store does, as an export or
	// a look at a payload. All of them or none; Seq is ignored.
	AppendAudit(ctx context.Context, entries ...wire.AuditEntry) error
}

// AuditReader reads the audit: who did what.
type AuditReader interface {
	// Audit lists acts, newest first, and those of one time by number.
	Audit(ctx context.Context, f wire.AuditFilter, after AuditCursor, limit int) ([]wire.AuditEntry, AuditCursor, error)
}

// PolicyWriter keeps every policy that was ever in force. Rows are only ever added.
type PolicyWriter interface {
	// AddPolicy appends a policy unless its text is that of the current one, and
	// returns the one that is current then. A version that was used for another
	// text is ErrConflict, because errors name the version that admitted
	// them. Only Version and Text are taken; the rest follows from the act.
	AddPolicy(ctx context.Context, v wire.PolicyVersion, act Act) (stored wire.PolicyVersion, added bool, err error)

	// CurrentPolicy returns the policy that was added last, else ErrNotFound.
	CurrentPolicy(ctx context.Context) (wire.PolicyVersion, error)

	// PolicyVersion returns the policy of a version, else ErrNotFound.
	PolicyVersion(ctx context.Context, version string) (wire.PolicyVersion, error)
}

// PolicyReader lists policies.
type PolicyReader interface {
	// PolicyVersions lists policies without their texts, newest first, from before
	// a number; zero begins at the newest. It returns the number to go on from, or
	// zero once there is nothing more.
	PolicyVersions(ctx context.Context, before int64, limit int) ([]wire.PolicyVersion, int64, error)
}

// PlatformKeyReader keeps the platform's own secrets, which their owner has encrypted.
type PlatformKeyReader interface {
	// AddFirstPlatformKey adds a key unless its purpose has one, and returns the
	// newest of the purpose then. Of any number of nodes that try at once, one
	// adds its own, and all get it.
	AddFirstPlatformKey(ctx context.Context, k PlatformKey, act Act) (newest PlatformKey, added bool, err error)

	// PlatformKeys returns the keys of a purpose, newest first.
	PlatformKeys(ctx context.Context, purpose string) ([]PlatformKey, error)
}

// PlatformKeyWriter changes the platform's own secrets.
type PlatformKeyWriter interface {
	// AddPlatformKey adds a key. An id that was ever used is ErrConflict. Beside
	// live keys that are wrapped by another key than this one, or while it is plaintext, it
	// is ErrOtherWrap; so it is in the next two verbs that write.
	AddPlatformKey(ctx context.Context, k PlatformKey, act Act) error

	// WrapPlatformKey replaces the plaintext secret of a live key by the same secret,
	// encrypted with a key that is kept elsewhere. One that is wrapped is ErrRefused;
	// a key that is gone is ErrNotFound.
	WrapPlatformKey(ctx context.Context, k PlatformKey, act Act) error

	// DeletePlatformKey deletes a secret, so that nothing encrypted with it can be
	// decrypted, and no hash made with it again. A key that is unknown or deleted is ErrNotFound.
	DeletePlatformKey(ctx context.Context, id string, act Act) error
}

// Leadership lets one node at a time do what only one should.
type Leadership interface {
	// Lead takes what is free or has expired, as another term, or renews what the
	// node holds, and reports whether it holds it then; else the term says who
	// does, and until when.
	Lead(ctx context.Context, b Bid) (term Term, held bool, err error)

	// Resign ends a term before its time. One that is over is left alone.
	Resign(ctx context.Context, term Term) error

	// Leader returns the last term of a leadership, over or not; the zero term if
	// there was none.
	Leader(ctx context.Context, name string) (Term, error)

	// SaveJob notes how a job went. From a leader whose term is not the current
	// one, because it slept or has resigned, it is ErrRefused.
	SaveJob(ctx context.Context, term Term, job Job) error

	// Jobs returns all jobs, by name.
	Jobs(ctx context.Context) ([]Job, error)
}

// Clocked lets acts happen by another clock than the store's own.
type Clocked interface {
	// UseClock lets acts happen by a clock. It is called before the first act.
	UseClock(clock func() time.Time)
}

// Waker wakes those who wait for something to do. It saves waiting, and is a hint
// only: whoever listens also polls.
type Waker interface {
	// Listen calls wake, from its own goroutine, whenever there is something of a
	// kind: see Wakes. It begins with all of them, and does so again when it
	// may have missed something. It returns the error of ctx once that ends.
	Listen(ctx context.Context, wake func(channel string)) error
}

// Rester is a store that a node with nothing to do leaves alone, with one look from time to
// time.
type Rester interface {
	// Rest says whether the node rests from now on. Meanwhile the store asks its database for
	// nothing by itself, and makes a connection that is lost again with the next look.
	Rest(resting bool)

	// NextDue looks for what is due first, of the core or by statements of slices: see
	// slice.Slice.FirstDue.
	NextDue(ctx context.Context, also ...string) (NextDue, error)

	// Announce notifies other nodes of things of some kinds: see [Wakes].
	Announce(kinds ...string)
}

// NextDue is what is due first of all that a node does by the clock.
type NextDue struct {
	Any bool
	In  time.Duration // until it is, by the store's clock; zero or less: it is due

	// Silent says that work may come without a notification, because the store hears nothing.
	Silent bool
}

// IDFinder finds things by a part of their id, whatever has become of them.
type IDFinder interface {
	// FindIDs returns things of a kind whose id begins or ends with a part, the newest
	// first. It looks at no more than limit rows of a table for either; an error that is
	// archived is found as well.
	FindIDs(ctx context.Context, kind recoup.IDKind, part recoup.IDPart, limit int) ([]wire.FoundID, error)
}
