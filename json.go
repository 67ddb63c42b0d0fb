package recoup

import (
	"encoding/json"
	"errors"
	"fmt"
)

// JSON is a JSON text, or nothing. It is kept as it was written.
type JSON string

// ErrBadJSON is returned for a text that is to be JSON and is not.
var ErrBadJSON = errors.New("not a JSON text")

// EncodeJSON returns an object as JSON, or nothing if it is empty. What cannot
// be JSON becomes a word that no store accepts.
func EncodeJSON(object map[string]any) JSON {
	if len(object) == 0 {
		return ""
	}
	b, err := json.Marshal(object)
	if err != nil {
		return "unencodable"
	}
	return JSON(b)
}

// Check returns ErrBadJSON unless it is a JSON text or nothing.
func (j JSON) Check() error {
	if j != "" && !json.Valid([]byte(j)) {
		return fmt.Errorf("%w: %.40q", ErrBadJSON, string(j))
	}
	return nil
}

// MarshalJSON returns the text itself, or null.
func (j JSON) MarshalJSON() ([]byte, error) {
	if j == "" {
		return []byte("null"), nil
	}
	return []byte(j), nil
}

// UnmarshalJSON takes any text as it is; null is nothing.
func (j *JSON) UnmarshalJSON(b []byte) error {
	if *j = JSON(b); string(b) == "null" {
		*j = ""
	}
	return nil
}
