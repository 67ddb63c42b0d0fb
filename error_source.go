package recoup

import (
	"encoding/json"
)

// ErrorSource is what an error keeps of the row of an adopted table that it is of.
type ErrorSource struct {
	Details   json.RawMessage `json:"details,omitempty" doc:"the columns that the policy lists, with secrets replaced"`
	Encrypted bool            `json:"encrypted" doc:"there are columns that are encrypted"`
	Moved     bool            `json:"moved" doc:"the row has left its table and is kept here, encrypted"`
}
