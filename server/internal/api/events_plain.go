package api

import (
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/ledger"
)

// plainReader reads events that are written as nearly all are: ASCII without
// escapes, every member known and there once, nothing null, details without
// anything nested. Whatever is written in another way, and whatever is wrong, it
// leaves to encoding/json, which says why; so it need not be complete, but what it
// takes it must read as the decoder of encoding/json does.
type plainReader struct {
	s string
	i int

	// names are those that came already. Events of a batch share most of theirs,
	// and one that is kept must not keep the whole body.
	names map[string]string
}

// maxNames is how many different names a reader keeps for the events that follow.
const maxNames = 1024

func newPlainReader() *plainReader { return &plainReader{names: map[string]string{}} }

// read reads a line into an event, or reports that it is not for this reader: then
// the event may be half filled in.
func (r *plainReader) read(line string, in *ledger.Incoming) bool {
	r.s, r.i = line, 0
	if !unescaped(line) || !r.take('{') {
		return false
	}
	var seen fields
	for {
		name, ok := r.text()
		if !ok || !r.take(':') || !r.member(name, in, &seen) {
			return false
		}
		if r.take('}') {
			return r.i == len(r.s)
		}
		if !r.take(',') {
			return false
		}
	}
}

// fields are the members of an event that came already, by their bits.
type fields uint16

const (
	fieldID fields = 1 << iota
	fieldCode
	fieldCorrelation
	fieldService
	fieldEndpoint
	fieldStatus
	fieldTenant
	fieldDetails
	fieldRegion
	fieldExternal
	fieldTS
)

func (f *fields) first(field fields) bool {
	first := *f&field == 0
	*f |= field
	return first
}

func (r *plainReader) member(name string, in *ledger.Incoming, seen *fields) bool {
	switch name {
	case "event_id":
		text, ok := r.text()
		in.IDText = text
		return ok && seen.first(fieldID)
	case "code":
		return r.name((*string)(&in.Code)) && seen.first(fieldCode)
	case "correlation_id":
		return r.id(&in.CorrelationID) && seen.first(fieldCorrelation)
	case "service":
		return r.name(&in.Service) && seen.first(fieldService)
	case "endpoint":
		return r.name(&in.Endpoint) && seen.first(fieldEndpoint)
	case "http_status":
		n, ok := r.whole()
		in.HTTPStatus = n
		return ok && seen.first(fieldStatus)
	case "tenant":
		return r.name(&in.Tenant) && seen.first(fieldTenant)
	case "details":
		return r.details(in) && seen.first(fieldDetails)
	case "region":
		return r.name(&in.Region) && seen.first(fieldRegion)
	case "external_service":
		return r.name(&in.ExternalService) && seen.first(fieldExternal)
	case "ts":
		text, ok := r.text()
		return ok && in.TS.UnmarshalText([]byte(text)) == nil && in.TS.Year() > 1 && seen.first(fieldTS)
	}
	return false
}

// name reads a text that may be kept.
func (r *plainReader) name(into *string) bool {
	text, ok := r.text()
	if ok {
		*into = r.kept(text)
	}
	return ok
}

// kept returns a text that does not hold on to the body.
func (r *plainReader) kept(text string) string {
	if kept, ok := r.names[text]; ok {
		return kept
	}
	kept := string([]byte(text))
	if len(r.names) < maxNames {
		r.names[kept] = kept
	}
	return kept
}

func (r *plainReader) id(into *recoup.ID) bool {
	text, ok := r.text()
	if !ok || text == "" {
		return ok
	}
	id, err := recoup.ParseID(text)
	*into = id
	return err == nil
}

func (r *plainReader) details(in *ledger.Incoming) bool {
	if !r.take('{') {
		return false
	}
	in.Details = map[string]any{}
	for !r.take('}') {
		if len(in.Details) > 0 && !r.take(',') {
			return false
		}
		key, ok := r.text()
		if !ok || !r.take(':') {
			return false
		}
		before := len(in.Details)
		if in.Details[r.kept(key)], ok = r.value(); !ok || len(in.Details) == before {
			return false
		}
	}
	return true
}

// value reads a text, a whole number, true or false.
func (r *plainReader) value() (any, bool) {
	switch r.next() {
	case '"':
		text, ok := r.text()
		return string([]byte(text)), ok
	case 't':
		return true, r.word("true")
	case 'f':
		return false, r.word("false")
	}
	n, ok := r.whole()
	return float64(n), ok
}

func (r *plainReader) word(word string) bool {
	if len(r.s)-r.i < len(word) || r.s[r.i:r.i+len(word)] != word {
		return false
	}
	r.i += len(word)
	return true // what may follow is for whoever reads on
}

// maxDigits is how many digits of a number are read here: fewer than would have to
// be rounded.
const maxDigits = 15

// whole reads a number that is not negative and has nothing but digits.
func (r *plainReader) whole() (n int, ok bool) {
	r.next()
	begin := r.i
	for r.i < len(r.s) && r.s[r.i]-'0' <= 9 {
		n = n*10 + int(r.s[r.i]-'0')
		if r.i++; r.i-begin > maxDigits {
			return 0, false
		}
	}
	digits := r.i - begin
	return n, digits > 0 && (digits == 1 || r.s[begin] != '0')
}

// text reads a text as it stands between its quotes. In a line without escapes it
// ends with the next of them.
func (r *plainReader) text() (string, bool) {
	if !r.take('"') {
		return "", false
	}
	begin := r.i
	n := strings.IndexByte(r.s[begin:], '"')
	if n < 0 {
		return "", false
	}
	r.i += n + 1
	return r.s[begin : begin+n], true
}

// take reads a byte if it is the next.
func (r *plainReader) take(c byte) bool {
	if r.next() != c {
		return false
	}
	r.i++
	return true
}

// next returns the next byte that is not space; 0 at the end.
func (r *plainReader) next() byte {
	for ; r.i < len(r.s); r.i++ {
		if c := r.s[r.i]; c != ' ' {
			return c
		}
	}
	return 0
}

// unescaped reports whether a line is ASCII without control characters and
// backslashes. It looks at eight bytes at a time: a byte of a word has its high bit
// set where it is beyond ASCII, where it is less than a space, or where it becomes
// zero when the backslashes are taken away.
func unescaped(s string) bool {
	const high, low = 0x8080808080808080, 0x0101010101010101
	for ; len(s) >= 8; s = s[8:] {
		w := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		if (w|(w-low*' ')&^w|(w^low*'\\'-low))&high != 0 {
			return false
		}
	}
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '\\' || c >= 0x80 {
			return false
		}
	}
	return true
}
