package store

import (
	"slices"
	"strconv"
)

// maxPlain is how many members of details are written without encoding/json: more
// than an event keeps.
const maxPlain = 8

// appendPlainDetails writes details that governance has let pass, which are a few words,
// whole numbers and plain texts, exactly as encoding/json does, which spends most
// of its time on finding out what they are. It leaves to it what is anything else.
func appendPlainDetails(b []byte, details map[string]any) ([]byte, bool) {
	type member struct {
		key   string
		value any
	}
	if len(details) > maxPlain {
		return b, false
	}
	var room [maxPlain]member
	members := room[:0]
	for key, value := range details {
		at := len(members)
		for at > 0 && key < members[at-1].key {
			at--
		}
		members = slices.Insert(members, at, member{key, value})
	}
	begin := len(b)
	for _, m := range members {
		b = append(b, ',')
		var ok bool
		if b, ok = appendText(b, m.key); !ok {
			return b[:begin], false
		}
		b = append(b, ':')
		if b, ok = appendPlain(b, m.value); !ok {
			return b[:begin], false
		}
	}
	b[begin] = '{'
	return append(b, '}'), true
}

func appendPlain(b []byte, value any) ([]byte, bool) {
	switch v := value.(type) {
	case bool:
		return strconv.AppendBool(b, v), true
	case int64:
		return strconv.AppendInt(b, v, 10), true
	case string:
		return appendText(b, v)
	}
	return b, false
}

// appendText writes a text in which encoding/json escapes nothing.
func appendText(b []byte, s string) ([]byte, bool) {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c >= 0x7f, c == '"', c == '\\', c == '<', c == '>', c == '&':
			return b, false
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"'), true
}
