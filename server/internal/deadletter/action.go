package deadletter

import (
	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// Triage is what a person has found. The note keeps what was confirmed.
type Triage recoup.Triage

func (Triage) act() string               { return ActTriage }
func (in Triage) said() (string, string) { return in.Note, "" }
func (in Triage) clean(f *check.Fields) Action {
	switch in.Cause {
	case recoup.CauseTransient, recoup.CauseData, recoup.CauseAuthConfig, recoup.CauseCodeDefect:
	default:
		f.Addf("cause", "enum", "cause must be TRANSIENT, DATA, AUTH_CONFIG or CODE_DEFECT")
	}
	f.Require("stage", in.Stage != "")
	f.Require("error_class", in.Class != "")
	f.Require("exhausted", in.Exhausted != nil)
	in.Note = text(f, "note", in.Note, maxText)
	return in
}

func (in Triage) take(l *store.StagedWork, f *check.Fields) map[string]any {
	d := &l.Dead
	in.confirms(f, d.Stage, d.Class)
	if in.Exhausted != nil && *in.Exhausted != d.Exhausted {
		f.Addf("exhausted", "current", "exhausted is %t, and the dead letter says %t: look at it again", *in.Exhausted, d.Exhausted)
	}
	d.Step, d.Cause = recoup.StepTriaged, in.Cause
	return map[string]any{"cause": string(in.Cause), "stage": in.Stage, "error_class": string(in.Class), "exhausted": d.Exhausted}
}

// confirms complains of a stage or a class that is not the one that failed.
func (in Triage) confirms(f *check.Fields, stage string, class recoup.Code) {
	if in.Stage != stage {
		f.Addf("stage", "current", "stage is not the one that failed, %s: look at it again", stage)
	}
	if in.Class != class {
		f.Addf("error_class", "current", "error_class is not that of the failure, %s: look at it again", class)
	}
}

// Remediation is what a person has done about it.
type Remediation recoup.Remediation

func (Remediation) act() string               { return ActRemediate }
func (in Remediation) said() (string, string) { return in.Note, in.Link }

func (in Remediation) clean(f *check.Fields) Action {
	f.Require("link", in.Link != "")
	f.Link("link", in.Link)
	in.Note = text(f, "note", in.Note, maxText)
	for _, d := range in.deeds() {
		*d.text = text(f, d.field, *d.text, maxText)
	}
	return in
}

// deed is a field of the form, and the cause that asks for it.
type deed struct {
	field string
	cause recoup.Cause
	text  *string
}

func (in *Remediation) deeds() []deed {
	return []deed{
		{"upstream_checked", recoup.CauseTransient, &in.UpstreamChecked},
		{"corrected", recoup.CauseData, &in.Corrected},
		{"fixed", recoup.CauseAuthConfig, &in.Fixed},
		{"release", recoup.CauseCodeDefect, &in.Release},
		{"validated_in", recoup.CauseCodeDefect, &in.ValidatedIn},
	}
}

func (in Remediation) take(l *store.StagedWork, f *check.Fields) map[string]any {
	details := map[string]any{}
	for _, d := range in.deeds() {
		switch asked := d.cause == l.Dead.Cause; {
		case asked && *d.text == "":
			f.Addf(d.field, "required", "%s is required: the cause is %s", d.field, l.Dead.Cause)
		case asked:
			details[d.field] = *d.text
		case *d.text != "":
			f.Addf(d.field, "cause", "%s belongs to the cause %s, and this one is %s", d.field, d.cause, l.Dead.Cause)
		}
	}
	l.Dead.Step = recoup.StepRemediated
	return details
}

// Validation is that a replay does no harm.
type Validation recoup.Validation

func (Validation) act() string               { return ActValidate }
func (in Validation) said() (string, string) { return in.Note, "" }

func (in Validation) clean(f *check.Fields) Action {
	in.DuplicateSafe, in.Note = text(f, "duplicate_safe", in.DuplicateSafe, maxText), text(f, "note", in.Note, maxText)
	if !in.Idempotent && in.DuplicateSafe == "" {
		f.Addf("idempotent", "required", "say that the replay is idempotent, or in duplicate_safe why a second effect does no harm")
	}
	return in
}

func (in Validation) take(l *store.StagedWork, _ *check.Fields) map[string]any {
	l.Dead.Step = recoup.StepValidated
	details := map[string]any{"idempotent": in.Idempotent}
	if in.DuplicateSafe != "" {
		details["duplicate_safe"] = in.DuplicateSafe
	}
	return details
}

// Verification is whether the result of the replay has arrived where it should.
type Verification recoup.Verification

func (Verification) act() string               { return ActVerify }
func (in Verification) said() (string, string) { return in.Note, in.Link }

func (in Verification) clean(f *check.Fields) Action {
	if in.Outcome != recoup.Delivered && in.Outcome != recoup.NotDelivered {
		f.Addf("outcome", "enum", "outcome must be %s or %s", recoup.Delivered, recoup.NotDelivered)
	}
	in.Note = needed(f, "note", in.Note)
	f.Link("link", in.Link)
	return in
}

func (in Verification) take(l *store.StagedWork, _ *check.Fields) map[string]any {
	if l.Dead.Step = recoup.StepVerified; in.Outcome == recoup.NotDelivered {
		l.Dead.Step, l.Dead.Cause = recoup.StepNew, ""
	}
	return map[string]any{"outcome": string(in.Outcome)}
}
