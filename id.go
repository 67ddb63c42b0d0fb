package recoup

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"sync"
	"time"
)

// ID identifies an error, an event, a correlation. It is sixteen bytes: a UUID,
// or a ULID, which has the same size and is stored the same way.
type ID [16]byte

// ErrBadID is returned for text that is neither a UUID nor a ULID.
var ErrBadID = errors.New("not an id: expected a UUID (8-4-4-4-12 hexadecimal digits) or a ULID (26 characters)")

const ulidLength = 26

// ParseID reads a UUID or a ULID.
func ParseID(s string) (ID, error) {
	switch len(s) {
	case 36:
		return parseUUID(s)
	case ulidLength:
		return parseULID(s)
	}
	return ID{}, ErrBadID
}

// TimeOf returns the time that s carries if it is a UUIDv7 or a ULID. It takes
// the text because a stored ULID looks like a random UUID.
func TimeOf(s string) (time.Time, bool) {
	id, err := ParseID(s)
	if err != nil || len(s) != ulidLength && id[6]>>4 != 7 {
		return time.Time{}, false
	}
	ms := int64(binary.BigEndian.Uint64(id[:8]) >> 16)
	return time.UnixMilli(ms).UTC(), true
}

// IsZero reports whether id is unset.
func (id ID) IsZero() bool { return id == ID{} }

// String formats id as a UUID; the zero ID is the empty string.
func (id ID) String() string {
	if id.IsZero() {
		return ""
	}
	b, _ := id.AppendText(nil)
	return string(b)
}

// AppendText appends id in the form of a UUID.
func (id ID) AppendText(b []byte) ([]byte, error) {
	for i, n := range []struct{ from, to int }{{0, 4}, {4, 6}, {6, 8}, {8, 10}, {10, 16}} {
		if i > 0 {
			b = append(b, '-')
		}
		b = hex.AppendEncode(b, id[n.from:n.to])
	}
	return b, nil
}

// MarshalText encodes id as [ID.String] does.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText accepts what [ParseID] accepts, and the empty string.
func (id *ID) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*id = ID{}
		return nil
	}
	parsed, err := ParseID(string(b))
	if err == nil {
		*id = parsed
	}
	return err
}

func parseUUID(s string) (ID, error) {
	if s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return ID{}, ErrBadID
	}
	var id ID
	at := 0
	for i := range id {
		if at == 8 || at == 13 || at == 18 || at == 23 {
			at++
		}
		high, low := hexDigits[s[at]], hexDigits[s[at+1]]
		if high|low > 0xf {
			return ID{}, ErrBadID
		}
		id[i] = high<<4 | low
		at += 2
	}
	return id, nil
}

// hexDigits holds the value of every hexadecimal digit, and more than any has for
// the other bytes.
var hexDigits = func() (values [256]byte) {
	for c := range values {
		values[c] = 0xff
	}
	for v := range byte(16) {
		values["0123456789abcdef"[v]], values["0123456789ABCDEF"[v]] = v, v
	}
	return values
}()

// parseULID reads Crockford's base 32: ten characters of time, sixteen of
// randomness, 130 bits of which the top two must be zero.
func parseULID(s string) (ID, error) {
	var hi, lo uint64
	for i := range len(s) {
		v, ok := crockford(s[i])
		if !ok || i == 0 && v > 7 {
			return ID{}, ErrBadID
		}
		hi = hi<<5 | lo>>59
		lo = lo<<5 | uint64(v)
	}
	var id ID
	binary.BigEndian.PutUint64(id[:8], hi)
	binary.BigEndian.PutUint64(id[8:], lo)
	return id, nil
}

func crockford(c byte) (byte, bool) {
	const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	if c >= 'a' && c <= 'z' {
		c -= 'a' - 'A'
	}
	for i := range len(alphabet) {
		if alphabet[i] == c {
			return byte(i), true
		}
	}
	return 0, false
}

// IDSource makes UUIDv7s. Those made by one source sort in the order in which
// they were made, also within a millisecond and when the clock steps back.
// It is safe for concurrent use.
type IDSource struct {
	mu     sync.Mutex
	random io.Reader
	drawn  [8]byte // here, because what is handed to a reader would be allocated
	last   uint64  // milliseconds << 12 | counter
}

// NewIDSource returns a source that draws from random: crypto/rand.Reader in
// production, a seeded reader in a simulation.
func NewIDSource(random io.Reader) *IDSource { return &IDSource{random: random} }

// New returns the next id for the given time. A time that does not fit an id,
// before 1970 or beyond 48 bits of milliseconds, is ignored: the id then directly
// follows the previous one.
func (s *IDSource) New(now time.Time) ID {
	var id ID
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := io.ReadFull(s.random, s.drawn[:]); err != nil {
		panic("recoup: the source of randomness failed: " + err.Error())
	}
	copy(id[8:], s.drawn[:])
	// Twelve bits below the millisecond hold its fraction, so that the counter
	// overflows into the next millisecond instead of wrapping.
	stamp := uint64(0)
	if s := now.Unix(); s >= 0 && s < 1<<48/1000 {
		stamp = uint64(now.UnixMilli())<<12 | uint64(now.Nanosecond()%1e6)<<12/1e6
	}
	if stamp <= s.last {
		stamp = s.last + 1
	}
	s.last = stamp
	binary.BigEndian.PutUint64(id[:8], stamp>>12<<16|0x7000|stamp&0xfff)
	id[8] = id[8]&0x3f | 0x80
	return id
}
