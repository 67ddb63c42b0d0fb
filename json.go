package recoup

import (
	"encoding/json"
	"errors"
	"fmt"
)

// JSON is a JSON text, or empty. It is kept verbatim.
type JSON string

// ErrBadJSON is returned for a text that is not valid JSON.
var ErrBadJSON = errors.New("not a JSON text")

// EncodeJSON returns an object as JSON, or "" if it is empty. What cannot be encoded
// becomes an invalid text, which every store refuses.
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

// Check returns ErrBadJSON unless j is valid JSON or empty.
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

// UnmarshalJSON keeps the text verbatim; null becomes empty.
func (j *JSON) UnmarshalJSON(b []byte) error {
	if *j = JSON(b); string(b) == "null" {
		*j = ""
	}
	return nil
}
