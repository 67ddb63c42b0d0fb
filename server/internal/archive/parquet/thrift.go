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

// decoder reads values in the compact protocol. It keeps only what a caller asks for and
// skips the rest, so that it allocates nothing for what it does not know.
type decoder struct {
	buf   []byte
	at    int
	depth int
	err   error
}

// maxDepth is how deep structs and lists are nested at most; those of the format, eight deep.
const maxDepth = 16

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: its metadata has %s at byte %d", ErrDamaged, fmt.Sprintf(format, args...), d.at)
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

// length reads the length of a text or a list, whose elements take a byte each at least.
func (d *decoder) length() int {
	n, size := binary.Uvarint(d.buf[d.at:])
	if size <= 0 || n > uint64(len(d.buf)-d.at-size) {
		d.fail("a length beyond its end")
		return 0
	}
	d.at += size
	return int(n)
}

// enter counts a level of nesting, and reports whether it is allowed.
func (d *decoder) enter() bool {
	if d.depth++; d.depth > maxDepth {
		d.fail("more than %d structs within structs", maxDepth)
	}
	return d.err == nil
}

// structure reads a struct. The function consumes the value of a field and returns true, or
// returns false for a field to be skipped.
func (d *decoder) structure(read func(id, wire int) bool) {
	d.enter()
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
		if wire := int(head & 15); !read(id, wire) && wire != wireTrue && wire != wireFalse {
			d.skip(wire)
		}
	}
	d.depth--
}

// number reads an integer of any width.
func (d *decoder) number(wire int, to *int64) bool {
	switch wire {
	case wireByte:
		*to = int64(d.byte())
	case wireI16, wireI32, wireI64:
		*to = d.varint()
	default:
		d.fail("no number where one belongs")
	}
	return true
}

// text reads a text of at most so many bytes.
func (d *decoder) text(wire, most int, to *string) bool {
	if wire != wireBinary {
		d.fail("no text where one belongs")
		return true
	}
	n := d.length()
	if n > most {
		d.fail("a text of %d bytes, where at most %d are allowed,", n, most)
		return true
	}
	*to = string(d.buf[d.at : d.at+n])
	d.at += n
	return true
}

// nested reads a struct that is the value of a field or an element of a list.
func (d *decoder) nested(wire int, read func(id, wire int) bool) bool {
	if wire != wireStruct {
		d.fail("no struct where one belongs")
		return true
	}
	d.structure(read)
	return true
}

// structs reads a list of structs, at most so many. Begin is called with their number.
func (d *decoder) structs(wire, most int, what string, begin func(n int), each func(i int) func(id, wire int) bool) bool {
	if wire != wireList {
		d.fail("no list where one belongs")
		return true
	}
	n, element := d.list()
	if n > most {
		d.fail("%d %s, where at most %d are allowed,", n, what, most)
		return true
	}
	begin(n)
	for i := 0; i < n && d.err == nil; i++ {
		d.nested(element, each(i))
	}
	return true
}

// list reads the head of a list.
func (d *decoder) list() (n, wire int) {
	head := d.byte()
	if n = int(head >> 4); n == 15 {
		n = d.length()
	}
	return n, int(head & 15)
}

// skip passes over a value that is not needed.
func (d *decoder) skip(wire int) {
	switch wire {
	case wireTrue, wireFalse, wireByte: // a boolean as an element of a list takes a byte
		d.byte()
	case wireI16, wireI32, wireI64:
		d.varint()
	case wireBinary:
		n := d.length()
		d.at += n
	case wireList:
		n, element := d.list()
		if d.enter() {
			for i := 0; i < n && d.err == nil; i++ {
				d.skip(element)
			}
		}
		d.depth--
	case wireStruct:
		d.structure(func(int, int) bool { return false })
	default:
		d.fail("a value of an unknown type")
	}
}
