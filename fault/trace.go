package fault

import (
	"encoding/hex"
	"strings"

	"github.com/recoup-dev/recoup"
)

// maxRequestID is the longest request id that is taken over from a client.
const maxRequestID = 64

// wellFormedRequestID accepts req_ and a name, a UUID or a ULID: what is safe
// in a header, a log line and a search box.
func wellFormedRequestID(s string) bool {
	if _, err := recoup.ParseID(s); err == nil {
		return true
	}
	name, found := strings.CutPrefix(s, "req_")
	if !found || name == "" || len(s) > maxRequestID {
		return false
	}
	for _, c := range []byte(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// parseTraceparent reads the trace id of a W3C traceparent header. Anything
// that is not exactly in form, all zero, or sent twice is refused.
func parseTraceparent(values []string) (recoup.ID, bool) {
	if len(values) != 1 {
		return recoup.ID{}, false
	}
	const length = len("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	s := values[0]
	switch {
	case len(s) < length, s[2] != '-', s[35] != '-', s[52] != '-', s[:2] == "ff":
		return recoup.ID{}, false
	case len(s) > length && (s[:2] == "00" || s[length] != '-'):
		return recoup.ID{}, false
	}
	for _, part := range []string{s[:2], s[3:35], s[36:52], s[53:55]} {
		if strings.Trim(part, "0123456789abcdef") != "" {
			return recoup.ID{}, false
		}
	}
	if strings.Trim(s[36:52], "0") == "" {
		return recoup.ID{}, false
	}
	var id recoup.ID
	if _, err := hex.Decode(id[:], []byte(s[3:35])); err != nil {
		return recoup.ID{}, false
	}
	return id, !id.IsZero()
}

// newRequestID makes the id of a request that has none: req_ and 32 digits.
func newRequestID(id recoup.ID) string {
	var room [36]byte
	return string(hex.AppendEncode(append(room[:0], "req_"...), id[:]))
}

// compact writes an id as 32 hexadecimal digits.
func compact(id recoup.ID) string { return hex.EncodeToString(id[:]) }
