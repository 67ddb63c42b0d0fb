package redact

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"

	"github.com/recoup-dev/recoup"
)

// Drops counts what an allow-list left out, by reason.
type Drops map[string]int

// The reasons why a member is dropped.
const (
	DropUnknownKey = "unknown_key" // the list does not have the key
	DropWrongType  = "wrong_type"  // the value is not what the key is for
	DropTooLarge   = "too_large"   // the value, or all of them together, is too large
	DropSecret     = "secret"      // the value matches a rule
)

// AllowList says which members of a map may be kept, and how large they may be.
// Members are taken in the order of the list, so what fits is always the same.
type AllowList struct {
	Keys     []Allowed
	MaxValue int // bytes of one value
	MaxTotal int // bytes of all that is kept, as JSON
}

// Allowed is a key with the kind of its values.
type Allowed struct {
	Key  string
	Kind Kind
}

// Kind is what a value may be.
type Kind struct {
	// decode returns the value as it is kept: a bool, an int64 or a string.
	decode func(any) (any, bool)
	// keep returns what is kept of a text, and whether it is of this kind; nil: all of any.
	keep func(string) (string, bool)
}

// Bool is true or false.
func Bool() Kind { return Kind{decode: as[bool]} }

// Int is a whole number, however JSON was decoded.
func Int() Kind { return Kind{decode: whole} }

// Label is the name of an input, not a sentence: items[0].price, /user/name.
func Label() Kind {
	return Kind{decode: as[string], keep: func(s string) (string, bool) { return s, label.MatchString(s) }}
}

// Hash is a hash, of which [TruncatedHash] says what is kept.
func Hash() Kind { return Kind{decode: as[string], keep: TruncatedHash} }

// EntityTag is a hash as an entity tag: weak or not, quoted or not.
func EntityTag() Kind { return Kind{decode: as[string], keep: truncatedTag} }

// ID is a UUID or a ULID, but not the zero one, which identifies nothing; both are kept as a UUID.
func ID() Kind { return Kind{decode: as[string], keep: asUUID} }

var label = regexp.MustCompile(`^[\p{L}\p{N}_.\[\]/$:*-]+$`)

func asUUID(s string) (string, bool) {
	id, err := recoup.ParseID(s)
	return id.String(), err == nil && !id.IsZero()
}

// Only returns the list with the keys that are named, within other bounds.
func (l AllowList) Only(keys []string, maxValue, maxTotal int) AllowList {
	kept := AllowList{MaxValue: maxValue, MaxTotal: maxTotal}
	for _, allowed := range l.Keys {
		if slices.Contains(keys, allowed.Key) {
			kept.Keys = append(kept.Keys, allowed)
		}
	}
	return kept
}

// EventDetails is the allow-list of an event's details (spec 003, governance of details).
func EventDetails() AllowList {
	return AllowList{
		MaxValue: 128,
		MaxTotal: 1024,
		Keys: []Allowed{
			{"retryable", Bool()},
			{"field", Label()},
			{"limit", Int()},
			{"window_sec", Int()},
			{"expected_etag", EntityTag()},
			{"existing_id", ID()},
		},
	}
}

// Apply returns the members that the list allows and how many it dropped, by
// reason. It does not change its argument. Whole numbers are kept as int64,
// however they were decoded. Both results are nil when there is nothing in them.
func (l AllowList) Apply(r *Redactor, members map[string]any) (kept map[string]any, dropped Drops) {
	drop := func(reason string, n int) {
		if dropped == nil {
			dropped = Drops{}
		}
		dropped[reason] += n
	}
	total, known := len("{}"), 0
	for _, allowed := range l.Keys {
		v, ok := members[allowed.Key]
		if !ok {
			continue
		}
		known++
		value, size, reason := l.admit(r, allowed.Kind, v)
		size += len(`"":,`) + len(allowed.Key)
		if reason == "" && total+size > l.MaxTotal {
			reason = DropTooLarge
		}
		if reason != "" {
			drop(reason, 1)
			continue
		}
		total += size
		if kept == nil {
			kept = map[string]any{}
		}
		kept[allowed.Key] = value
	}
	if unknown := len(members) - known; unknown > 0 {
		drop(DropUnknownKey, unknown)
	}
	return kept, dropped
}

// admit returns a value as it is kept and the size of its JSON, or why it is dropped.
func (l AllowList) admit(r *Redactor, kind Kind, v any) (value any, size int, reason string) {
	value, ok := kind.decode(v)
	if !ok {
		return nil, 0, DropWrongType
	}
	text := plain(value)
	switch {
	case len(text) > l.MaxValue:
		return nil, 0, DropTooLarge
	case len(r.spans(text)) > 0: // a card number may come as a number
		return nil, 0, DropSecret
	case kind.keep != nil:
		if text, ok = kind.keep(text); !ok {
			return nil, 0, DropWrongType
		}
		value = text
	}
	encoded, err := encodedSize(value, text)
	if err != nil {
		return nil, 0, DropWrongType
	}
	return value, encoded, ""
}

// plain writes a value that is kept as text.
func plain(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return fmt.Sprint(value)
}

// encodedSize is how long the JSON of a value is. Words, numbers and the plainest
// of texts are as long as they are; others are written to be measured.
func encodedSize(value any, text string) (int, error) {
	s, isText := value.(string)
	if !isText {
		return len(text), nil
	}
	for i := range len(s) {
		if c := s[i]; !digit(c) && c != '_' && c != '.' && c != '-' && (c|0x20 < 'a' || c|0x20 > 'z') {
			encoded, err := json.Marshal(s)
			return len(encoded), err
		}
	}
	return len(s) + len(`""`), nil
}

func as[T any](v any) (any, bool) {
	t, ok := v.(T)
	return t, ok
}

// whole returns a number without a fraction as int64, however JSON was decoded. A
// float64 above 2^53 is no longer the number that was sent.
func whole(v any) (any, bool) {
	switch n := v.(type) {
	case int:
		return int64(n), true
	case int64:
		return n, true
	case json.Number:
		if i, err := n.Int64(); err == nil {
			return i, true
		}
		f, err := n.Float64()
		return wholeFloat(f, err == nil)
	case float64:
		return wholeFloat(n, true)
	}
	return nil, false
}

func wholeFloat(f float64, ok bool) (any, bool) {
	ok = ok && math.Trunc(f) == f && math.Abs(f) <= 1<<53
	return int64(f), ok
}
