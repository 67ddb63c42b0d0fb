package conformance

import (
	"context"
	"time"

	"recoup"
	"recoup/internal/store"
)

// Service is what a store keeps for the service itself, one small interface per
// aggregate. Its users declare the parts they need for themselves. Every verb is
// one transaction, and each that takes a store.Act writes, in the same commit,
// one row of the audit if it changed anything.
type Service interface {
	Store
	Receipts
	Keys
	Audits
	Policies
	PlatformKeys
	Leadership
	Clocked
	Outbox
	Processing
	Waking
}

// Receipts keeps what was answered to requests; see store.ReceiptFor. Of two
// verbs with the same receipt at once, one does what it is asked for and the
// other gets its answer.
type Receipts interface {
	// PurgeReceipts deletes at most limit receipts that have expired.
	PurgeReceipts(ctx context.Context, now time.Time, limit int) (int, error)
}

// Keys keeps who may use the service. A key is never deleted; what it is and who
// made it never changes.
type Keys interface {
	// CreateKey adds a key, by whoever acts. An id or a secret that is known
	// already is store.ErrConflict.
	CreateKey(ctx context.Context, k store.Key, act store.Act) (store.Key, error)

	// CreateFirstKey adds a key if there is none at all, and reports whether it
	// did. Of any number of nodes that try at once, one does.
	CreateFirstKey(ctx context.Context, k store.Key, act store.Act) (bool, error)

	// KeyByHash returns the key with the hash of a secret, valid or not, else
	// store.ErrNotFound.
	KeyByHash(ctx context.Context, hash [32]byte) (store.Key, error)

	// Keys lists keys, newest first.
	Keys(ctx context.Context, p store.Page) ([]store.Key, store.Cursor, error)

	// RevokeKey ends a key for good and returns it as it is then. The first
	// revocation stands. An unknown id is store.ErrNotFound.
	RevokeKey(ctx context.Context, id recoup.ID, act store.Act) (store.Key, error)

	// RotateKey adds a key that takes over from another, which then ends at a
	// time, or at its own end if that comes first. One that is revoked or has a
	// successor is store.ErrConflict.
	RotateKey(ctx context.Context, old recoup.ID, next store.Key, oldEnds time.Time, act store.Act) (store.Key, error)

	// TouchKeys notes when keys were used last. It never goes back, and ids that
	// are unknown are passed over. It is no act.
	TouchKeys(ctx context.Context, used map[recoup.ID]time.Time) error
}

// Audits keeps who did what. Rows are only ever added.
type Audits interface {
	// AppendAudit writes down acts that no verb of the store does, as an export or
	// a look at a payload. All of them or none; Seq is ignored.
	AppendAudit(ctx context.Context, entries []store.AuditEntry) error

	// Audit lists acts, newest first, and those of one time by number.
	Audit(ctx context.Context, f store.AuditFilter, after store.AuditCursor, limit int) ([]store.AuditEntry, store.AuditCursor, error)
}

// Policies keeps every policy that was ever in force. Rows are only ever added.
type Policies interface {
	// AddPolicy appends a policy unless its text is that of the current one, and
	// returns the one that is current then. A version that was used for another
	// text is store.ErrConflict, because errors name the version that admitted
	// them. Only Version and Text are taken; the rest follows from the act.
	AddPolicy(ctx context.Context, v store.PolicyVersion, act store.Act) (stored store.PolicyVersion, added bool, err error)

	// CurrentPolicy returns the policy that was added last, else store.ErrNotFound.
	CurrentPolicy(ctx context.Context) (store.PolicyVersion, error)

	// PolicyVersion returns the policy of a version, else store.ErrNotFound.
	PolicyVersion(ctx context.Context, version string) (store.PolicyVersion, error)

	// PolicyVersions lists policies without their texts, newest first, from before
	// a number; zero begins at the newest. It returns the number to go on from, or
	// zero once there is nothing more.
	PolicyVersions(ctx context.Context, before int64, limit int) ([]store.PolicyVersion, int64, error)
}

// PlatformKeys keeps the platform's own secrets, which their owner has sealed.
type PlatformKeys interface {
	// AddPlatformKey adds a key. An id that was ever used is store.ErrConflict. Beside
	// live keys that are wrapped by another key than this one, or while it is bare, it
	// is store.ErrOtherWrap; so it is in the next two verbs that write.
	AddPlatformKey(ctx context.Context, k store.PlatformKey, act store.Act) error

	// AddFirstPlatformKey adds a key unless its purpose has one, and returns the
	// newest of the purpose then. Of any number of nodes that try at once, one
	// adds its own, and all get it.
	AddFirstPlatformKey(ctx context.Context, k store.PlatformKey, act store.Act) (newest store.PlatformKey, added bool, err error)

	// PlatformKeys returns the keys of a purpose, newest first.
	PlatformKeys(ctx context.Context, purpose string) ([]store.PlatformKey, error)

	// WrapPlatformKey puts the secret of a live, bare key, sealed by a key that is kept
	// elsewhere, in place of what it was. One that is wrapped is store.ErrRefused; a
	// key that is gone is store.ErrNotFound.
	WrapPlatformKey(ctx context.Context, k store.PlatformKey, act store.Act) error

	// DeletePlatformKey deletes a secret so that nothing it sealed or hashed can
	// be told again. A key that is unknown or deleted is store.ErrNotFound.
	DeletePlatformKey(ctx context.Context, id string, act store.Act) error
}

// Leadership lets one node at a time do what only one should.
type Leadership interface {
	// Lead takes what is free or has lapsed, as another term, or renews what the
	// node holds, and reports whether it holds it then; else the term says who
	// does, and until when.
	Lead(ctx context.Context, b store.Bid) (term store.Term, held bool, err error)

	// Resign ends a term before its time. One that is over is left alone.
	Resign(ctx context.Context, term store.Term) error

	// Leader returns the last term of a leadership, over or not; the zero term if
	// there was none.
	Leader(ctx context.Context, name string) (store.Term, error)

	// SaveJob notes how a job went. From a leader whose term is not the current
	// one, because it slept or has resigned, it is store.ErrRefused.
	SaveJob(ctx context.Context, term store.Term, job store.Job) error

	// Jobs returns all jobs, by name.
	Jobs(ctx context.Context) ([]store.Job, error)
}

// Clocked says what is left for the clock to do.
type Clocked interface {
	// Overdue says how much of a kind has come at a time, at most limit, and since
	// when the first of it has been due: of the deadlines of errors what Due
	// returns, of the rest what the verb that deletes or freezes it would take. It
	// costs no more than what it counts.
	Overdue(ctx context.Context, d store.Deadline, at time.Time, limit int) (store.Overdue, error)
}

// Outbox delivers notices. One waits, or is delivered, or is given up, and is
// then as it is for good.
type Outbox interface {
	// AddNotices adds notices that no error causes, due at once, and returns how
	// many: one whose key is there already is not added again. A body that is not
	// JSON is store.ErrBadJSON.
	AddNotices(ctx context.Context, now time.Time, notices []store.Notice) (int, error)

	// ClaimNotices takes notices that are due, the longest due first, counts the
	// attempt and makes them due again when the lease is over. No notice is handed
	// to two nodes.
	ClaimNotices(ctx context.Context, now time.Time, lease time.Duration, limit int) ([]store.PendingNotice, error)

	// WaitingNotices returns the notices of a kind that wait, claimed or not, oldest
	// first: those of some errors, or, if none are named, those that no error
	// causes; at most store.MaxWaitingNotices. It knows the kinds PAGE, ALERT,
	// JOB_LATE and JOB_RECOVERED, and none of another.
	WaitingNotices(ctx context.Context, kind recoup.NoticeKind, errors []recoup.ID) ([]store.PendingNotice, error)

	// FinishNotices notes what became of deliveries, and returns of how many: that
	// of an attempt which is not the last one any more, because its lease was over
	// and another has taken the notice, is passed over.
	FinishNotices(ctx context.Context, now time.Time, deliveries []store.Delivery) (int, error)

	// PurgeNotices deletes at most limit notices that were delivered or given up
	// before a time. Their keys are free again.
	PurgeNotices(ctx context.Context, before time.Time, limit int) (int, error)
}

// Processing counts what services have done.
type Processing interface {
	// AddProcessed adds to counts, all of them or none.
	AddProcessed(ctx context.Context, counts []store.Processed) error

	// Processed sums up the minutes that begin in a span, by table and service. The
	// cost depends on the span, and not on how much there is.
	Processed(ctx context.Context, span store.Span, f store.ProcessedFilter) ([]store.Processed, error)

	// PurgeProcessed deletes at most limit counts of minutes, and as many of
	// hours, of hours that were over at a time, and returns how many it deleted.
	PurgeProcessed(ctx context.Context, before time.Time, limit int) (int, error)
}

// Waking tells who waits that there is something to do. It saves waiting, and is
// nothing to rely on: whoever listens also looks by itself now and then.
type Waking interface {
	// Listen calls wake, from its own goroutine, whenever there is something of a
	// kind: see store.Wakes. It begins with all of them, and does so again when it
	// may have missed something. It returns the error of ctx once that ends.
	Listen(ctx context.Context, wake func(channel string)) error
}
