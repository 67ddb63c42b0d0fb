package recoup

import "time"

// PromotionStatus says whether an entity may be promoted, and if not, why, who has to act and
// until when.
type PromotionStatus struct {
	EntityID string    `json:"entity_id" doc:"the entity"`
	Blocked  bool      `json:"blocked" doc:"whether it may not go on"`
	Blockers []Blocker `json:"blockers,omitempty" doc:"what blocks it"`
	More     bool      `json:"more,omitempty" doc:"there are more blockers than are listed"`
	OpensAt  time.Time `json:"opens_at,omitzero" doc:"when the last blocker would have ended by itself"`
	Unknown  bool      `json:"unknown,omitempty" doc:"nobody has ever reported anything about it, or promoted it; said where it is asked for"`
}

// Blocker is an error that keeps an entity from being promoted.
type Blocker struct {
	ErrorID     ID        `json:"error_id,omitzero" doc:"the error; none: the key is not for its hub, or it is unread"`
	Unread      bool      `json:"unread,omitempty" doc:"it is no error yet, but a row of an adopted table that no node has read; ask again in a second"`
	DeadLetter  bool      `json:"dead_letter,omitempty" doc:"it is a dead letter: it ends when its replay is verified, when it is archived, or when it expires, which it does not while a replay runs"`
	Table       string    `json:"table" doc:"its error table"`
	Code        Code      `json:"code,omitempty" doc:"what failed"`
	State       State     `json:"state,omitempty" doc:"its state"`
	Owner       string    `json:"owner" doc:"who is to act on it"`
	Since       time.Time `json:"since" doc:"since when it blocks"`
	NextRetryAt time.Time `json:"next_retry_at,omitzero" doc:"when it is retried next"`
	EndsAt      time.Time `json:"ends_at,omitzero" doc:"when it would end by itself"`
}

// Public returns what a key without access to the blocker's hub may see: who has to
// act and until when, but not what failed.
func (b Blocker) Public() Blocker {
	return Blocker{Unread: b.Unread, DeadLetter: b.DeadLetter, Table: b.Table, Owner: b.Owner, Since: b.Since, EndsAt: b.EndsAt}
}

// Promotion asks to move an entity to its next phase.
type Promotion struct {
	EntityID string `json:"entity_id" example:"CO-20260205-000001" doc:"what goes on"`
	Phase    string `json:"phase" example:"shipping" doc:"to which phase"`
}

// Promoted is a promotion that was recorded. Seq is its place in the gate's
// order.
type Promoted struct {
	ID       ID        `json:"promotion_id" doc:"names the promotion"`
	Seq      int64     `json:"seq" doc:"its place in the order of all promotions"`
	EntityID string    `json:"entity_id" doc:"what went on"`
	Phase    string    `json:"phase" doc:"to which phase"`
	By       string    `json:"by" doc:"who promoted it"`
	At       time.Time `json:"at" doc:"when"`
	Repeated bool      `json:"repeated,omitempty" doc:"the same request was answered before"`
}
