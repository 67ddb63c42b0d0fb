package deadletter

import (
	"recoup"
	"recoup/internal/store"
)

// Triage says what is the matter. It confirms what was looked at (spec 002, 8.5):
// if the dead letter says otherwise, nothing happens. The note keeps what was
// confirmed.
type Triage struct {
	Cause     store.Cause
	Stage     string
	Class     recoup.Code
	Exhausted *bool // whether its retries were spent; nil: not said
	Note      string
}

func (Triage) act() string               { return ActTriage }
func (in Triage) said() (string, string) { return in.Note, "" }
func (in Triage) clean(f *fields) Step {
	switch in.Cause {
	case store.CauseTransient, store.CauseData, store.CauseAccess, store.CauseDefect:
	default:
		f.add("cause", "enum", "cause must be TRANSIENT, DATA, AUTH_CONFIG or CODE_DEFECT")
	}
	f.require("stage", in.Stage != "")
	f.require("error_class", in.Class != "")
	f.require("exhausted", in.Exhausted != nil)
	in.Note = f.text("note", in.Note, maxText)
	return in
}

func (in Triage) take(l *store.Letter, f *fields) map[string]any {
	d := &l.Dead
	in.confirms(f, d.Stage, d.Class)
	if in.Exhausted != nil && *in.Exhausted != d.Exhausted {
		f.add("exhausted", "current", "exhausted is %t, and the dead letter says %t: look at it again", *in.Exhausted, d.Exhausted)
	}
	d.Step, d.Cause = store.StepTriaged, in.Cause
	return map[string]any{"cause": string(in.Cause), "stage": in.Stage, "error_class": string(in.Class), "exhausted": d.Exhausted}
}

// confirms complains of a stage or a class that is not the one that failed.
func (in Triage) confirms(f *fields, stage string, class recoup.Code) {
	if in.Stage != stage {
		f.add("stage", "current", "stage is not the one that failed, %s: look at it again", stage)
	}
	if in.Class != class {
		f.add("error_class", "current", "error_class is not that of the failure, %s: look at it again", class)
	}
}

// Remediation says what was done, as its cause demands, and where that is
// written down.
type Remediation struct {
	Link string // the ticket or incident
	Note string

	UpstreamChecked string // transient: how the upstream was seen to be back
	Corrected       string // data: what was corrected
	Fixed           string // auth or config: what was rotated or fixed
	Release         string // code defect: the release with the fix
	ValidatedIn     string // and where it was validated
}

func (Remediation) act() string               { return ActRemediate }
func (in Remediation) said() (string, string) { return in.Note, in.Link }

func (in Remediation) clean(f *fields) Step {
	f.require("link", in.Link != "")
	f.link(in.Link)
	in.Note = f.text("note", in.Note, maxText)
	for _, d := range in.deeds() {
		*d.text = f.text(d.field, *d.text, maxText)
	}
	return in
}

// deed is a field of the form, and the cause that asks for it.
type deed struct {
	field string
	cause store.Cause
	text  *string
}

func (in *Remediation) deeds() []deed {
	return []deed{
		{"upstream_checked", store.CauseTransient, &in.UpstreamChecked},
		{"corrected", store.CauseData, &in.Corrected},
		{"fixed", store.CauseAccess, &in.Fixed},
		{"release", store.CauseDefect, &in.Release},
		{"validated_in", store.CauseDefect, &in.ValidatedIn},
	}
}

func (in Remediation) take(l *store.Letter, f *fields) map[string]any {
	details := map[string]any{}
	for _, d := range in.deeds() {
		switch asked := d.cause == l.Dead.Cause; {
		case asked && *d.text == "":
			f.add(d.field, "required", "%s is required: the cause is %s", d.field, l.Dead.Cause)
		case asked:
			details[d.field] = *d.text
		case *d.text != "":
			f.add(d.field, "cause", "%s belongs to the cause %s, and this one is %s", d.field, d.cause, l.Dead.Cause)
		}
	}
	l.Dead.Step = store.StepRemediated
	return details
}

// Validation says that a replay does no harm: it is idempotent, or why a second
// effect is safe.
type Validation struct {
	Idempotent    bool
	DuplicateSafe string // why it is safe, where it is not idempotent
	Note          string
}

func (Validation) act() string               { return ActValidate }
func (in Validation) said() (string, string) { return in.Note, "" }

func (in Validation) clean(f *fields) Step {
	in.DuplicateSafe, in.Note = f.text("duplicate_safe", in.DuplicateSafe, maxText), f.text("note", in.Note, maxText)
	if !in.Idempotent && in.DuplicateSafe == "" {
		f.add("idempotent", "required", "say that the replay is idempotent, or in duplicate_safe why a second effect does no harm")
	}
	return in
}

func (in Validation) take(l *store.Letter, _ *fields) map[string]any {
	l.Dead.Step = store.StepValidated
	details := map[string]any{"idempotent": in.Idempotent}
	if in.DuplicateSafe != "" {
		details["duplicate_safe"] = in.DuplicateSafe
	}
	return details
}

// Outcome is what a verification found.
type Outcome string

// What it finds. Work that was not delivered goes back to triage.
const (
	Delivered    Outcome = "DELIVERED"
	NotDelivered Outcome = "NOT_DELIVERED"
)

// Verification says whether the result of the replay has arrived where it should.
// It closes the dead letter, or sends it back to triage.
type Verification struct {
	Outcome Outcome
	Note    string
	Link    string
}

func (Verification) act() string               { return ActVerify }
func (in Verification) said() (string, string) { return in.Note, in.Link }

func (in Verification) clean(f *fields) Step {
	if in.Outcome != Delivered && in.Outcome != NotDelivered {
		f.add("outcome", "enum", "outcome must be %s or %s", Delivered, NotDelivered)
	}
	in.Note = f.needed("note", in.Note)
	f.link(in.Link)
	return in
}

func (in Verification) take(l *store.Letter, _ *fields) map[string]any {
	if l.Dead.Step = store.StepVerified; in.Outcome == NotDelivered {
		l.Dead.Step, l.Dead.Cause = store.StepNew, ""
	}
	return map[string]any{"outcome": string(in.Outcome)}
}
