package recoup

import "time"

// PolicyVersion is a policy that was in force once, or is.
type PolicyVersion struct {
	Number  int64     `json:"number"`  // 1, 2, 3…
	Version string    `json:"version"` // as the file names itself; errors record it
	Hash    [32]byte  `json:"-"`       // of the text, SHA-256
	Text    string    `json:"-"`       // the file; left out of lists
	At      time.Time `json:"at"`
	By      string    `json:"by"`
	Reason  string    `json:"reason,omitempty"`
}
