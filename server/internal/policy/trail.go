package policy

// trail notes, while a question is resolved, which rule set which value. A nil
// trail notes nothing and costs nothing, so that [Policy.Resolve] and
// [Policy.Explain] run the same code and cannot disagree.
type trail struct{ steps []step }

// step is one value that a rule has set, with the answer as it then stood.
type step struct {
	field  field
	by     cause
	answer Effective
}

// field is a part of the answer.
type field string

const (
	fieldTable    field = "table"
	fieldAction   field = "disposition"
	fieldReason   field = "park_reason"
	fieldNotify   field = "notify_owner"
	fieldPage     field = "page"
	fieldTTL      field = "ttl"
	fieldBlocks   field = "blocks"
	fieldRetries  field = "max_retries"
	fieldSchedule field = "schedule"
	fieldFloor    field = "floor"
	fieldWindow   field = "window"
	fieldFamily   field = "family"
)

// cause is the kind of rule that set a value.
type cause int

const (
	byReport        cause = iota // what the report says
	byMissingTable               // its table is unknown or dead
	byMissingEntity              // it lacks the entity its table requires
	byTable
	bySeverity
	byHub
	byClass
	byCategory
	byCondition
	byNoPark // the table does not allow PARK
)

func (t *trail) note(f field, by cause, e *Effective) {
	if t != nil {
		t.steps = append(t.steps, step{f, by, *e})
	}
}
