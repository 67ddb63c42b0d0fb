package rowfile

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Repeated returns the name of a member that a JSON object has twice. Readers of such an object
// differ in which of the two they take. With fold, names that differ only in case are the same, as
// they are for encoding/json. Text that is no object has none.
func Repeated(text []byte, fold bool) (name string, found bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return "", false
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return "", false
		}
		key := name
		if fold {
			key = strings.ToLower(name)
		}
		if seen[key] {
			return name, true
		}
		seen[key] = true
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return "", false
		}
	}
	return "", false
}
