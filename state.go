package recoup

// State is where a governed error stands in its life.
type State string

// The states of an error. RESOLVED and ARCHIVED are terminal: a resolved error
// can only be archived, an archived one accepts nothing.
const (
	Active       State = "ACTIVE"
	RetryPending State = "RETRY_PENDING"
	Parked       State = "PARKED"
	Escalated    State = "ESCALATED"
	Resolved     State = "RESOLVED"
	Archived     State = "ARCHIVED"
)

// States lists every state in the order of the lifecycle.
func States() []State {
	return []State{Active, RetryPending, Parked, Escalated, Resolved, Archived}
}

// Open reports whether an error in this state still waits for an end: it is
// neither resolved nor archived.
func (s State) Open() bool {
	switch s {
	case Active, RetryPending, Parked, Escalated:
		return true
	}
	return false
}

// InParkQueue reports whether an error in this state waits for a person.
func (s State) InParkQueue() bool { return s == Parked || s == Escalated }

// Action is what a policy does with a failure. A stored error has a [Disposition]
// instead.
type Action string

// The actions of spec 000, section 2.
const (
	ActionRetry   Action = "RETRY"
	ActionPark    Action = "PARK"
	ActionArchive Action = "ARCHIVE"
	ActionIgnore  Action = "IGNORE"
)

// Actions lists every action in the order of spec 000.
func Actions() []Action {
	return []Action{ActionRetry, ActionPark, ActionArchive, ActionIgnore}
}

// Valid reports whether a is an action of spec 000.
func (a Action) Valid() bool {
	switch a {
	case ActionRetry, ActionPark, ActionArchive, ActionIgnore:
		return true
	}
	return false
}

// Disposition returns the value the disposition column takes under this action.
func (a Action) Disposition() Disposition {
	if a == ActionPark {
		return DispositionParked
	}
	return Disposition(a)
}

// Disposition is the stored disposition of an error, spelled so that the
// promotion query of spec 000, 6.3 is right as written.
type Disposition string

// The dispositions an error can be stored with.
const (
	DispositionRetry    Disposition = "RETRY"
	DispositionParked   Disposition = "PARKED"
	DispositionArchive  Disposition = "ARCHIVE"
	DispositionIgnore   Disposition = "IGNORE"
	DispositionResolved Disposition = "RESOLVED"
)

// Blocks reports whether an open error with this disposition blocks its
// entity, given that its table blocks (spec 000, 6.1).
func (d Disposition) Blocks() bool {
	return d == DispositionRetry || d == DispositionParked
}

// ParkReason says why an error was parked. People may write text of their own;
// the system uses the constants.
type ParkReason string

// The parking triggers of spec 000, 4.3, and the closing of the retry window,
// which 5.1 implies and does not name.
const (
	MaxRetriesExceeded ParkReason = "MAX_RETRIES_EXCEEDED"
	NonRetryableError  ParkReason = "NON_RETRYABLE_ERROR"
	EscalationRequired ParkReason = "ESCALATION_REQUIRED"
	ExternalDependency ParkReason = "EXTERNAL_DEPENDENCY"
	DataQuality        ParkReason = "DATA_QUALITY"
	RetryWindowClosed  ParkReason = "RETRY_WINDOW_CLOSED"
)

// ParkReasons lists the reasons the system itself parks for.
func ParkReasons() []ParkReason {
	return []ParkReason{
		MaxRetriesExceeded, NonRetryableError, EscalationRequired,
		ExternalDependency, DataQuality, RetryWindowClosed,
	}
}

// ArchiveReason says why an error left its table (spec 000, 7.3).
type ArchiveReason string

// The archive reasons of spec 000.
const (
	TTLExpired       ArchiveReason = "TTL_EXPIRED"
	ManualArchive    ArchiveReason = "MANUAL"
	ResolvedArchive  ArchiveReason = "RESOLVED"
	SupersededByNext ArchiveReason = "SUPERSEDED"
)

// MaxTier is the highest escalation tier (spec 000, 10.2).
const MaxTier = 3

// System is the actor of everything that no person asked for.
const System = "system"
