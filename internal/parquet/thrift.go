package parquet

import (
	"encoding/binary"
	"fmt"
)

// Metadata is in the compact protocol of Thrift: structs are lists of numbered fields.

// The types of fields in the compact protocol.
const (
	wireTrue, wireFalse, wireByte, wireI16, wireI32, wireI64 = 1, 2, 3, 4, 5, 6
	wireDouble, wireBinary, wireList, wireStruct             = 7, 8, 9, 12
)

// encoder appends values in the compact protocol.
type encoder struct {
	buf  []byte
	last []int // the number of the last field of every struct that is open
}

// structure appends a struct whose fields write adds.
func (e *encoder) structure(write func()) {
	e.last = append(e.last, 0)
	write()
	e.last = e.last[:len(e.last)-1]
	e.buf = append(e.buf, 0)
}

func (e *encoder) field(id, wire int) {
	last := &e.last[len(e.last)-1]
	e.buf = append(e.buf, byte((id-*last)<<4|wire)) // no two fields of ours are further apart than 15
	*last = id
}

func (e *encoder) integer(id, wire int, n int64) {
	e.field(id, wire)
	e.buf = binary.AppendVarint(e.buf, n)
}

func (e *encoder) i32(id int, n int64) { e.integer(id, wireI32, n) }
func (e *encoder) i64(id int, n int64) { e.integer(id, wireI64, n) }

func (e *encoder) boolean(id int, yes bool) {
	if yes {
		e.field(id, wireTrue)
	} else {
		e.field(id, wireFalse)
	}
}

func (e *encoder) text(id int, s string) {
	e.field(id, wireBinary)
	e.string(s)
}

func (e *encoder) string(s string) {
	e.buf = binary.AppendUvarint(e.buf, uint64(len(s)))
	e.buf = append(e.buf, s...)
}

func (e *encoder) nested(id int, write func()) {
	e.field(id, wireStruct)
	e.structure(write)
}

// list begins a list of n elements, which are appended next.
func (e *encoder) list(id, wire, n int) {
	e.field(id, wireList)
	if n < 15 {
		e.buf = append(e.buf, byte(n<<4|wire))
		return
	}
	e.buf = binary.AppendUvarint(append(e.buf, byte(0xf0|wire)), uint64(n))
}

// object is a struct that was read: its fields by their number. What is missing or of
// another type reads as zero, and whoever needs it finds that out.
type object map[int]any

func (o object) int(id int) int64     { n, _ := o[id].(int64); return n }
func (o object) text(id int) string   { s, _ := o[id].(string); return s }
func (o object) object(id int) object { v, _ := o[id].(object); return v }
func (o object) list(id int) []any    { v, _ := o[id].([]any); return v }
func (o object) has(id int) bool      { _, ok := o[id]; return ok }

// decoder reads values in the compact protocol. Every value takes a byte at least, so
// that what is read is never much larger than what it was read from.
type decoder struct {
	buf []byte
	at  int
	err error
}

// maxDepth is how deep structs are nested at most; those of the format, eight deep.
const maxDepth = 16

func (d *decoder) fail(what string) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: its metadata has %s at byte %d", ErrDamaged, what, d.at)
	}
	d.at = len(d.buf)
}

func (d *decoder) byte() byte {
	if d.at >= len(d.buf) {
		d.fail("an early end")
		return 0
	}
	d.at++
	return d.buf[d.at-1]
}

func (d *decoder) varint() int64 {
	n, size := binary.Varint(d.buf[d.at:])
	if size <= 0 {
		d.fail("a number that does not end")
		return 0
	}
	d.at += size
	return n
}

func (d *decoder) length(most int) int {
	n, size := binary.Uvarint(d.buf[d.at:])
	if size <= 0 || n > uint64(most) {
		d.fail("a length beyond its end")
		return 0
	}
	d.at += size
	return int(n)
}

func (d *decoder) structure(depth int) object {
	o := object{}
	if depth > maxDepth {
		d.fail("too many structs within structs")
		return o
	}
	for id := 0; d.err == nil; {
		head := d.byte()
		if head == 0 {
			break
		}
		if delta := int(head >> 4); delta > 0 {
			id += delta
		} else {
			id = int(d.varint())
		}
		if wire := int(head & 15); wire == wireTrue || wire == wireFalse {
			o[id] = wire == wireTrue
		} else {
			o[id] = d.value(wire, depth)
		}
	}
	return o
}

func (d *decoder) value(wire, depth int) any {
	switch wire {
	case wireTrue, wireFalse: // as an element of a list
		return d.byte() == wireTrue
	case wireByte:
		return int64(d.byte())
	case wireI16, wireI32, wireI64:
		return d.varint()
	case wireBinary:
		n := d.length(len(d.buf) - d.at)
		n = min(n, len(d.buf)-d.at)
		d.at += n
		return string(d.buf[d.at-n : d.at])
	case wireList:
		return d.elements(depth)
	case wireStruct:
		return d.structure(depth + 1)
	}
	d.fail("a value of an unknown type")
	return nil
}

func (d *decoder) elements(depth int) []any {
	head := d.byte()
	n, wire := int(head>>4), int(head&15)
	if n == 15 {
		n = d.length(len(d.buf) - d.at)
	}
	if depth > maxDepth {
		d.fail("too many lists within lists")
	}
	var list []any
	for i := 0; i < n && d.err == nil; i++ {
		list = append(list, d.value(wire, depth+1))
	}
	return list
}
