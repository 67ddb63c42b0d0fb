package store

import (
	"slices"
	"strconv"
)

// maxPlain is how many members of details are written without encoding/json: more
// than an event keeps.
const maxPlain = 8

// encodePlain writes details that governance has let pass, which are a few words,
// whole numbers and plain texts, exactly as encoding/json does, which spends most
// of its time on finding out what they are. It leaves to it what is anything else.
func encodePlain(details map[string]any) ([]byte, bool) {
	var room [maxPlain]string
	if len(details) > maxPlain {
		return nil, false
	}
	keys := room[:0]
	for key := range details {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	b := make([]byte, 0, 32*len(keys))
	for _, key := range keys {
		b = append(b, ',')
		var ok bool
		if b, ok = appendText(b, key); !ok {
			return nil, false
		}
		b = append(b, ':')
		if b, ok = appendPlain(b, details[key]); !ok {
			return nil, false
		}
	}
	b[0] = '{'
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
