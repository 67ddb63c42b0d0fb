package recoup

import (
	"encoding/hex"
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
