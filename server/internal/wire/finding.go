package wire

import (
	"time"
)

// FindingSeverity is how bad a finding is.
type FindingSeverity string

// The severities, worst first.
const (
	FindingCritical FindingSeverity = "critical" // data is lost or wrong, or will be
	FindingWarning  FindingSeverity = "warning"  // something does not work as it should
	FindingNote     FindingSeverity = "note"     // worth knowing; nothing is broken
)

// FindingSeverities are all of them, worst first.
func FindingSeverities() []FindingSeverity {
	return []FindingSeverity{FindingCritical, FindingWarning, FindingNote}
}

// Finding is something that is wrong with an installation.
type Finding struct {
	Check    string          `json:"check" doc:"the check that found it"`
	Severity FindingSeverity `json:"severity" doc:"critical, warning or note"`
	Subject  string          `json:"subject" doc:"what it is about: a table, a trigger, a setting"`
	Evidence string          `json:"evidence" doc:"what was seen, and what follows from it"`
	Fix      string          `json:"fix" doc:"the command that fixes it, ready to paste; empty where a person has to decide"`
	Safe     bool            `json:"safe" doc:"recoup doctor --fix does it by itself"`
}

// Diagnosis is what the doctor has found.
type Diagnosis struct {
	At       time.Time `json:"at" doc:"when it looked"`
	Database string    `json:"database" doc:"sqlite or postgres"`
	Checks   int       `json:"checks" doc:"how many checks were made"`
	Findings []Finding `json:"findings" doc:"what was found, worst first; empty: all is well"`
}

// Healthy reports whether nothing is worse than a note.
func (d *Diagnosis) Healthy() bool {
	for i := range d.Findings {
		if d.Findings[i].Severity != FindingNote {
			return false
		}
	}
	return true
}
