package wire

import (
	"encoding/hex"
	"encoding/json"
	"time"
)

// PolicyVersion is a policy that was in force once, or is.
type PolicyVersion struct {
	Number  int64     `json:"number" doc:"which version it is, from 1"`
	Version string    `json:"version" doc:"as the file names itself; errors record it"`
	Hash    [32]byte  `json:"-"` // of the text, SHA-256
	Text    string    `json:"-"` // the file; left out of lists
	At      time.Time `json:"at" doc:"since when it was in force"`
	By      string    `json:"by" doc:"who put it in force"`
	Reason  string    `json:"reason,omitempty" doc:"why"`
}

// Checksum is the SHA-256 of the file, as sha256sum prints it.
func (p *PolicyVersion) Checksum() string { return hex.EncodeToString(p.Hash[:]) }

// Policy is the policy in force.
type Policy struct {
	Version string `json:"version" doc:"the version in force"`
	Text    string `json:"text" doc:"the policy file, as it was written"`
}

// PolicyVersionPage is a page of policies, newest first.
type PolicyVersionPage struct {
	Versions []PolicyVersion `json:"versions" doc:"this page of the list"`
	Next     string          `json:"next,omitempty" doc:"the cursor of the next page; none: this is the last"`
}

// PolicyFile is a policy to be checked.
type PolicyFile struct {
	Text string `json:"text" doc:"the policy file"`
}

// PolicyChange asks to put a policy in force.
type PolicyChange struct {
	Text   string `json:"text" doc:"the policy file"`
	Rebase bool   `json:"rebase,omitempty" doc:"apply it to the open errors too"`
	Reason string `json:"reason,omitempty" maxLength:"1000" doc:"why; the versions list it"`
}

// PolicyApplied is the answer to a [PolicyChange]. Added is false if the policy was in
// force already.
type PolicyApplied struct {
	Version string          `json:"version"`
	Number  int64           `json:"number"`
	At      time.Time       `json:"at"`
	By      string          `json:"by"`
	Added   bool            `json:"added"`
	Rebased json.RawMessage `json:"rebased,omitempty"`
}

// PolicyPlan is what a policy would change of the open errors, as the server returns
// it.
type PolicyPlan = json.RawMessage
