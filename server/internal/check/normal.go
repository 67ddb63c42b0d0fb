package check

import "golang.org/x/text/unicode/norm"

// Normalize brings identifiers into the composed form of Unicode, NFC, in which they are
// compared and stored: an id that is written in two forms is one id. Every way in
// normalizes what it takes before it checks it.
func Normalize(ids ...*string) {
	for _, id := range ids {
		*id = norm.NFC.String(*id)
	}
}

// Normalized returns an identifier in the form in which it is compared and stored.
func Normalized(id string) string { return norm.NFC.String(id) }
