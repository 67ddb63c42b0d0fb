package recoup

// Cause is the root cause that triage found.
type Cause string

// The causes of spec 002, 8.5.
const (
	CauseTransient  Cause = "TRANSIENT"
	CauseData       Cause = "DATA"
	CauseAuthConfig Cause = "AUTH_CONFIG"
	CauseCodeDefect Cause = "CODE_DEFECT"
)

// Triage records the root cause of a dead letter, and confirms its class, stage and
// exhaustion: if the dead letter differs, nothing changes.
type Triage struct {
	Cause     Cause  `json:"cause" enum:"TRANSIENT,DATA,AUTH_CONFIG,CODE_DEFECT" doc:"the root cause"`
	Stage     string `json:"stage" doc:"that failed, as was seen" example:"llm"`
	Class     Code   `json:"error_class" doc:"of its failure, as was seen" example:"NETWORK_TIMEOUT"`
	Exhausted *bool  `json:"exhausted" doc:"whether its retries were spent, as was seen"`
	Note      string `json:"note,omitempty" maxLength:"4000" doc:"what else to know"`
}

// Remediation records what was done, as the cause demands, and where that is
// documented.
type Remediation struct {
	Link            string `json:"link" doc:"the ticket or incident"`
	UpstreamChecked string `json:"upstream_checked,omitempty" maxLength:"4000" doc:"transient: how the upstream was seen to be back"`
	Corrected       string `json:"corrected,omitempty" maxLength:"4000" doc:"data: what was corrected"`
	Fixed           string `json:"fixed,omitempty" maxLength:"4000" doc:"auth or config: what was rotated or fixed"`
	Release         string `json:"release,omitempty" maxLength:"4000" doc:"code defect: the release with the fix"`
	ValidatedIn     string `json:"validated_in,omitempty" maxLength:"4000" doc:"code defect: where the fix was validated"`
	Note            string `json:"note,omitempty" maxLength:"4000" doc:"what else to know"`
}

// Validation confirms that a replay is safe.
type Validation struct {
	Idempotent    bool   `json:"idempotent,omitempty" doc:"doing it twice is as good as doing it once"`
	DuplicateSafe string `json:"duplicate_safe,omitempty" maxLength:"4000" doc:"else: why a second effect does no harm"`
	Note          string `json:"note,omitempty" maxLength:"4000" doc:"what else to know"`
}

// Delivery is what a verification found.
type Delivery string

// The outcomes of a verification. Work that was not delivered goes back to triage.
const (
	Delivered    Delivery = "DELIVERED"
	NotDelivered Delivery = "NOT_DELIVERED"
)

// Verification records whether the result of a replay has arrived. DELIVERED closes
// the dead letter, NOT_DELIVERED sends it back to triage.
type Verification struct {
	Outcome Delivery `json:"outcome" enum:"DELIVERED,NOT_DELIVERED" doc:"whether the result has arrived"`
	Note    string   `json:"note" maxLength:"4000" doc:"how that was seen"`
	Link    string   `json:"link,omitempty" doc:"the ticket or incident"`
}

// BulkResult is the outcome of an act on many errors or dead letters, or of its
// preview.
type BulkResult struct {
	Preview bool      `json:"preview" doc:"nothing was changed"`
	Matched int       `json:"matched" doc:"how many the act was to be applied to"`
	Applied int       `json:"applied" doc:"how many it was applied to; of a preview, would be"`
	NotDone int       `json:"not_done" doc:"how many it does not apply to"`
	Refused []Refused `json:"refused,omitempty" doc:"the first hundred that the act does not apply to"`
	Token   string    `json:"token,omitempty" doc:"of a preview: act with it within 15 minutes, and exactly this set is meant; what changed meanwhile is refused by itself"`
}

// Refused is an error or a dead letter that an act does not apply to, and why.
type Refused struct {
	ID     ID     `json:"error_id" doc:"which"`
	Reason string `json:"reason" doc:"why not"`

	Err error `json:"-"` // the underlying error; not on the wire
}

// maxRefused is how many refused items an answer lists.
const maxRefused = 100

// refuse adds a refused item to the list, which keeps the first hundred.
func refuse(list []Refused, id ID, err error) []Refused {
	if len(list) == maxRefused {
		return list
	}
	return append(list, Refused{ID: id, Err: err})
}

// Count adds the outcome of one item.
func (r *BulkResult) Count(id ID, err error) {
	if err == nil {
		r.Applied++
		return
	}
	r.NotDone++
	r.Refused = refuse(r.Refused, id, err)
}

// ForGroup applies an act of the workflow to all open dead letters of a group.
type ForGroup struct {
	Preview bool   `json:"preview,omitempty" doc:"say what would happen, and do nothing"`
	Token   string `json:"token,omitempty" maxLength:"400000" doc:"of the preview whose set is meant; default: the open dead letters of the group now"`
}
