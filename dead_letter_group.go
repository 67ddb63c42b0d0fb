package recoup

// GroupTriage is a [Triage] of a group.
type GroupTriage struct {
	Triage
	ForGroup
}

// GroupRemediation is a [Remediation] of a group.
type GroupRemediation struct {
	Remediation
	ForGroup
}

// GroupValidation is a [Validation] of a group.
type GroupValidation struct {
	Validation
	ForGroup
}

// GroupVerification is a [Verification] of a group.
type GroupVerification struct {
	Verification
	ForGroup
}

// DeadLetterGroupPage is a page of groups, the last seen first.
type DeadLetterGroupPage struct {
	Groups []DeadLetterGroup `json:"groups" doc:"this page of the list"`
	Days   []GroupDay        `json:"days,omitempty" doc:"what they gained on each UTC day of the last 30, if that was asked for; days without anything are left out"`
	Next   string            `json:"next,omitempty" doc:"the cursor of the next page; none: this is the last"`
}

// GroupNote is the owner and the note of a group.
type GroupNote struct {
	Owner string `json:"owner,omitempty" doc:"who takes care of the group"`
	Note  string `json:"note,omitempty" maxLength:"4000" doc:"what is known of it"`
}
