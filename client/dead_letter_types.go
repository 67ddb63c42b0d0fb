package client

import (
	"github.com/recoup-dev/recoup"
)

// DeadLetterPage is a page of dead letters, newest first.
type DeadLetterPage struct {
	DeadLetters []recoup.DeadLetter `json:"dead_letters" doc:"this page of the list"`
	Next        string              `json:"next,omitempty" doc:"the cursor of the next page; none: this is the last"`
}

func letterQuery(f recoup.DeadLetterFilter) query {
	return query{}.text("pipeline", f.Pipeline).text("stage", f.Stage).text("error_class", string(f.Class)).text("step", string(f.Step)).
		text("group_id", f.GroupID.String()).time("after", f.After).time("before", f.Before)
}

// GroupTriage is a [recoup.Triage] of a group.
type GroupTriage struct {
	recoup.Triage
	recoup.ForGroup
}

// GroupRemediation is a [recoup.Remediation] of a group.
type GroupRemediation struct {
	recoup.Remediation
	recoup.ForGroup
}

// GroupValidation is a [recoup.Validation] of a group.
type GroupValidation struct {
	recoup.Validation
	recoup.ForGroup
}

// GroupVerification is a [recoup.Verification] of a group.
type GroupVerification struct {
	recoup.Verification
	recoup.ForGroup
}

// DeadLetterGroupFilter is which groups are listed, and with what.
type DeadLetterGroupFilter struct {
	Pipeline string // of one pipeline; none: of all
	Days     bool   // with what they gained on each day of the last month
}

// DeadLetterGroupPage is a page of groups, the last seen first.
type DeadLetterGroupPage struct {
	Groups []recoup.DeadLetterGroup `json:"groups" doc:"this page of the list"`
	Days   []recoup.GroupDay        `json:"days,omitempty" doc:"what they gained on each UTC day of the last 30, if that was asked for; days without anything are left out"`
	Next   string                   `json:"next,omitempty" doc:"the cursor of the next page; none: this is the last"`
}

// GroupNote is the owner and the note of a group.
type GroupNote struct {
	Owner string `json:"owner,omitempty" doc:"who takes care of the group"`
	Note  string `json:"note,omitempty" maxLength:"4000" doc:"what is known of it"`
}

// PayloadLook asks for the payload of a dead letter. The reason is audited.
type PayloadLook struct {
	Reason string `json:"reason" maxLength:"1000" doc:"why the payload is read; the audit keeps it"`
}

// Payload is the payload of a dead letter.
type Payload struct {
	Payload []byte `json:"payload" doc:"base64"`
}
