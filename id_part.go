package recoup

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// IDPart is the beginning or the end of ids, in hexadecimal digits.
type IDPart string

// The digits that a part has. Fewer would select too much, and what is selected by its
// end is found by an index of that many.
const (
	minPart = 6
	maxPart = 2 * len(ID{})
)

// ParseIDPart reads a part of an id, with or without dashes.
func ParseIDPart(s string) (IDPart, error) {
	digits := strings.ToLower(strings.ReplaceAll(s, "-", ""))
	if len(digits) < minPart || len(digits) > maxPart || strings.Trim(digits, "0123456789abcdef") != "" {
		return "", fmt.Errorf("%q is no part of an id: expected %d to %d hexadecimal digits, from its beginning or its end", s, minPart, maxPart)
	}
	return IDPart(digits), nil
}

// End is what the ids that end with the part end with: three bytes.
func (p IDPart) End() []byte {
	end, _ := hex.DecodeString(string(p[len(p)-minPart:])) // they are digits
	return end
}

// Span is the first and the last of the ids that begin with the part.
func (p IDPart) Span() (first, last ID) {
	for at, digit := range map[*ID]string{&first: "0", &last: "f"} {
		_, _ = hex.Decode(at[:], []byte(string(p)+strings.Repeat(digit, maxPart-len(p)))) // they are digits
	}
	return first, last
}

// Of reports whether an id begins or ends with the part.
func (p IDPart) Of(id ID) bool {
	whole := hex.EncodeToString(id[:])
	return strings.HasPrefix(whole, string(p)) || strings.HasSuffix(whole, string(p))
}

// IDKind is a kind of things that have ids.
type IDKind string

// The kinds, by the names that the API has for them.
const (
	ErrorIDs           IDKind = "errors"
	DeadLetterIDs      IDKind = "dead-letters"
	DeadLetterGroupIDs IDKind = "dead-letter-groups"
	ReplayIDs          IDKind = "replays"
	OperationIDs       IDKind = "operations"
	IntakeIDs          IDKind = "intakes"
	AlertIDs           IDKind = "alerts"
	SilenceIDs         IDKind = "silences"
	NoticeIDs          IDKind = "notices"
	KeyIDs             IDKind = "keys"
)
