package api

import "encoding/json"

// raw is an answer that is written already.
type raw []byte

// encode writes an answer as JSON.
func (s *server) encode(out any) ([]byte, error) {
	if text, ok := out.(raw); ok {
		return text, nil
	}
	if s.Encode != nil {
		return s.Encode(out)
	}
	return json.Marshal(out)
}

// withRequestID adds the id of the request as the last member of an object, which may be
// changed. An answer that is no object stays as it is.
func withRequestID(object []byte, id string) []byte {
	last := len(object) - 1
	if last < 1 || object[0] != '{' || id == "" {
		return object
	}
	object = object[:last]
	if last > 1 {
		object = append(object, ',')
	}
	object, _ = appendString(append(object, `"request_id":`...), id) // which never fails
	return append(object, '}')
}

// appendString appends a text as encoding/json writes it.
func appendString(b []byte, s string) ([]byte, error) {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c >= 0x7f, c == '"', c == '\\', c == '<', c == '>', c == '&':
			quoted, err := json.Marshal(s)
			return append(b, quoted...), err
		}
	}
	return append(append(append(b, '"'), s...), '"'), nil
}

// each turns what a store returns into what is sent: a list that is never null.
func each[S, T any](list []S, turn func(S) T) []T {
	out := make([]T, len(list))
	for i := range list {
		out[i] = turn(list[i])
	}
	return out
}

// listed is a list as it is sent: never null.
func listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
