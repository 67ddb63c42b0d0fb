package bus

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// The bounds of a message.
const (
	MaxBatch   = 500     // events
	maxMessage = 512_000 // bytes
)

// version is that of the encoding: the first byte of a message.
const version = 1

// ErrUnreadable is returned for a message that is no batch, or a damaged one.
var ErrUnreadable = errors.New("the message is not a batch that can be read")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// writer writes messages, one after another into the same memory.
type writer struct{ message, details []byte }

// writers are used again: a message is some hundred kilobytes.
var writers = sync.Pool{New: func() any { return &writer{message: make([]byte, 0, 128<<10)} }}

// encode writes a batch: version, id, number of events, the events, and a checksum of
// all that. What it returns is valid until the next.
func (w *writer) encode(b *store.EventBatch) []byte {
	buf := w.message[:0]
	buf = append(buf, version)
	buf = append(buf, b.ID[:]...)
	buf = binary.AppendUvarint(buf, uint64(len(b.Events)))
	for i := range b.Events {
		buf = w.appendEvent(buf, &b.Events[i])
	}
	w.message = binary.BigEndian.AppendUint32(buf, crc32.Checksum(buf, castagnoli))
	return w.message
}

// timeless is a bit of the byte that an event begins with.
const timeless = 1

func (w *writer) appendEvent(buf []byte, e *store.Event) []byte {
	var flags byte
	if e.Timeless {
		flags |= timeless
	}
	buf = append(buf, flags)
	buf = append(append(buf, e.ID[:]...), e.CorrelationID[:]...)
	buf = binary.AppendVarint(buf, e.TS.UnixMicro())
	buf = binary.AppendUvarint(buf, uint64(e.HTTPStatus))
	for _, text := range texts(e) {
		buf = binary.AppendUvarint(buf, uint64(len(*text)))
		buf = append(buf, *text...)
	}
	w.details = store.AppendDetails(w.details[:0], e.Details)
	buf = binary.AppendUvarint(buf, uint64(len(w.details)))
	return append(buf, w.details...)
}

// texts are what of an event is text, in the order in which it is written.
func texts(e *store.Event) [8]*string {
	return [...]*string{(*string)(&e.Code), &e.Service, &e.Endpoint, &e.Region, &e.ExternalService, (*string)(&e.ReportedCode), &e.TenantHash, &e.TenantKey}
}

// decode reads what encode wrote.
func decode(data []byte) (b store.EventBatch, err error) {
	if len(data) > maxMessage {
		return b, fmt.Errorf("%w: it has %d bytes, expected at most %d", ErrUnreadable, len(data), maxMessage)
	}
	end := len(data) - 4
	if end < 1+len(b.ID) || data[0] != version {
		return b, fmt.Errorf("%w: not in the encoding %d", ErrUnreadable, version)
	}
	if crc32.Checksum(data[:end], castagnoli) != binary.BigEndian.Uint32(data[end:]) {
		return b, fmt.Errorf("%w: its checksum is wrong", ErrUnreadable)
	}
	r := reader{data: data[1:end]}
	copy(b.ID[:], r.bytes(len(b.ID)))
	n := r.count(MaxBatch)
	b.Events = make([]store.Event, n)
	for i := range b.Events {
		if err := r.event(&b.Events[i]); err != nil {
			return b, err
		}
	}
	if r.bad || len(r.data) > 0 {
		return b, fmt.Errorf("%w: its length is wrong", ErrUnreadable)
	}
	if b.ID.IsZero() {
		return b, fmt.Errorf("%w: it has no id", ErrUnreadable)
	}
	return b, nil
}

// reader takes values off the front of a message. What is not there reads as zero, and
// is noted.
type reader struct {
	data []byte
	bad  bool
}

func (r *reader) bytes(n int) []byte {
	if n > len(r.data) {
		r.bad, r.data = true, nil
		return nil
	}
	value := r.data[:n]
	r.data = r.data[n:]
	return value
}

// count reads a number that is at most a limit.
func (r *reader) count(limit int) int {
	value, n := binary.Uvarint(r.data)
	if n <= 0 || value > uint64(limit) {
		r.bad, r.data = true, nil
		return 0
	}
	r.data = r.data[n:]
	return int(value)
}

func (r *reader) event(e *store.Event) (err error) {
	if flags := r.bytes(1); len(flags) == 1 {
		e.Timeless = flags[0]&timeless != 0
	}
	copy(e.ID[:], r.bytes(len(recoup.ID{})))
	copy(e.CorrelationID[:], r.bytes(len(recoup.ID{})))
	micros, n := binary.Varint(r.data)
	r.bytes(max(n, 0))
	r.bad = r.bad || n <= 0
	e.TS = time.UnixMicro(micros).UTC()
	e.HTTPStatus = r.count(math.MaxInt16)
	for _, text := range texts(e) {
		*text = string(r.bytes(r.count(maxMessage)))
	}
	if details := r.bytes(r.count(maxMessage)); len(details) > 0 {
		if e.Details, err = store.DecodeDetails(details); err != nil {
			return fmt.Errorf("%w: %w", ErrUnreadable, err)
		}
	}
	return nil
}
