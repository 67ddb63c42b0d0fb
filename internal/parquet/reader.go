package parquet

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Reader reads a file that a Writer wrote. Whatever the bytes are, it returns rows or an
// error that wraps ErrDamaged, and takes no more memory than a row group may have.
type Reader struct {
	from   io.ReaderAt
	size   int64
	schema Schema
	groups []object
	rows   int64
	zstd   *zstd.Decoder
}

// NewReader reads the footer of a file, which must have the schema.
func NewReader(from io.ReaderAt, size int64, schema Schema) (*Reader, error) {
	r := &Reader{from: from, size: size, schema: schema}
	tail, err := r.bytes(size-8, 8)
	if err != nil {
		return nil, err
	}
	length := int64(binary.LittleEndian.Uint32(tail))
	if string(tail[4:]) != magic || length > maxFooter {
		return nil, fmt.Errorf("%w: it does not end as a Parquet file does", ErrDamaged)
	}
	footer, err := r.bytes(size-8-length, length)
	if err != nil {
		return nil, err
	}
	d := decoder{buf: footer}
	meta := d.structure(0)
	if d.err != nil {
		return nil, d.err
	}
	if err := r.check(meta); err != nil {
		return nil, err
	}
	// Less than the default would do: a page says how large it is.
	r.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPage))
	return r, err
}

// Close frees what reading took.
func (r *Reader) Close() { r.zstd.Close() }

// Groups is how many row groups the file has.
func (r *Reader) Groups() int { return len(r.groups) }

// bytes reads a piece of the file.
func (r *Reader) bytes(at, n int64) ([]byte, error) {
	if at < 0 || n < 0 || at > r.size-n {
		return nil, fmt.Errorf("%w: it points beyond its end", ErrDamaged)
	}
	buf := make([]byte, n)
	if _, err := r.from.ReadAt(buf, at); err != nil && err != io.EOF {
		return nil, err
	}
	return buf, nil
}

// check compares the schema of a file with the one that is expected.
func (r *Reader) check(meta object) error {
	elements := meta.list(2)
	if len(elements) != len(r.schema)+1 {
		return fmt.Errorf("%w: it has %d columns, not %d", ErrDamaged, len(elements)-1, len(r.schema))
	}
	for i, c := range r.schema {
		e, _ := elements[i+1].(object)
		if e.text(4) != c.Name || e.int(1) != c.Kind.physical() || (e.int(3) == 1) != c.Optional {
			return fmt.Errorf("%w: column %d is %q, not %q", ErrDamaged, i+1, e.text(4), c.Name)
		}
	}
	if !meta.has(3) || !meta.has(4) {
		return fmt.Errorf("%w: it does not say what rows it has", ErrDamaged)
	}
	r.rows = meta.int(3)
	var sum int64
	for _, v := range meta.list(4) {
		g, _ := v.(object)
		if n := g.int(3); n <= 0 || n > GroupRows || len(g.list(1)) != len(r.schema) {
			return fmt.Errorf("%w: a row group has %d rows and %d columns", ErrDamaged, n, len(g.list(1)))
		}
		sum += g.int(3)
		r.groups = append(r.groups, g)
	}
	if sum != r.rows {
		return fmt.Errorf("%w: its row groups have %d rows, not %d", ErrDamaged, sum, r.rows)
	}
	return nil
}

func (r *Reader) chunk(group, column int) object {
	c, _ := r.groups[group].list(1)[column].(object)
	return c.object(3)
}

// TextBounds are the smallest and the largest text of a column in a row group, if the
// file says so.
func (r *Reader) TextBounds(group, column int) (least, most string, ok bool) {
	s := r.chunk(group, column).object(12)
	return s.text(6), s.text(5), s.has(5) && s.has(6)
}

// NumberBounds are those of a column of times.
func (r *Reader) NumberBounds(group, column int) (least, most int64, ok bool) {
	low, high, ok := r.TextBounds(group, column)
	if !ok || len(low) != 8 || len(high) != 8 {
		return 0, 0, false
	}
	return int64(binary.LittleEndian.Uint64([]byte(low))), int64(binary.LittleEndian.Uint64([]byte(high))), true
}

// Values are the values of a column in a row group, by row. Which slice has them, the
// kind of the column says; a value that is missing is zero or empty there.
type Values struct {
	Texts   []string
	UUIDs   [][16]byte
	Numbers []int64
	Missing []bool // nil: none is
}

// Read reads the values of a column in a row group.
func (r *Reader) Read(group, column int) (Values, error) {
	n := int(r.groups[group].int(3))
	meta, c := r.chunk(group, column), r.schema[column]
	failed := func(err error) (Values, error) {
		return Values{}, fmt.Errorf("column %s: %w", c.Name, err)
	}
	if meta.int(4) != codecZstd || meta.int(5) != int64(n) {
		return failed(fmt.Errorf("%w: it has %d values for %d rows", ErrDamaged, meta.int(5), n))
	}
	var entries []string
	if meta.has(11) {
		p, err := r.page(meta.int(11), pageDictionary)
		if err != nil {
			return failed(err)
		}
		if entries, err = readTexts(p.body, p.own.int(1)); err != nil {
			return failed(err)
		}
	}
	p, err := r.page(meta.int(9), pageData)
	if err != nil {
		return failed(err)
	}
	if p.own.int(1) != int64(n) {
		return failed(fmt.Errorf("%w: its page has %d values for %d rows", ErrDamaged, p.own.int(1), n))
	}
	v, err := c.decode(p.body, n, p.own.int(2), entries)
	if err != nil {
		return failed(err)
	}
	return v, nil
}

// page is a page that was read.
type page struct {
	own  object // the part of its header that is of its kind
	body []byte
}

// maxHeader is how long the header of a page may be: ours have less than 60 bytes.
const maxHeader = 1024

func (r *Reader) page(at, kind int64) (page, error) {
	head, err := r.bytes(at, min(maxHeader, max(r.size-at, 0)))
	if err != nil {
		return page{}, err
	}
	d := decoder{buf: head}
	h := d.structure(0)
	if d.err != nil {
		return page{}, d.err
	}
	packed, unpacked := h.int(3), h.int(2)
	if h.int(1) != kind || unpacked < 0 || unpacked > maxPage {
		return page{}, fmt.Errorf("%w: the page at byte %d is of another kind or too large", ErrDamaged, at)
	}
	body, err := r.bytes(at+int64(d.at), packed)
	if err != nil {
		return page{}, err
	}
	if checksum(body) != h.int(4) {
		return page{}, fmt.Errorf("%w: the page at byte %d does not have its checksum", ErrDamaged, at)
	}
	var frame zstd.Header
	if err := frame.Decode(body); err != nil || frame.HasFCS && frame.FrameContentSize != uint64(unpacked) {
		return page{}, fmt.Errorf("%w: the page at byte %d is not %d bytes of zstd", ErrDamaged, at, unpacked)
	}
	if body, err = r.zstd.DecodeAll(body, nil); err != nil || int64(len(body)) != unpacked {
		return page{}, fmt.Errorf("%w: the page at byte %d cannot be decompressed (%w)", ErrDamaged, at, err)
	}
	own := 5
	if kind == pageDictionary {
		own = 7
	}
	return page{own: h.object(own), body: body}, nil
}

// readTexts reads n texts, which are all that there is.
func readTexts(buf []byte, n int64) (texts []string, err error) {
	for ; len(buf) > 0; n-- {
		if len(buf) < 4 || n <= 0 {
			return nil, fmt.Errorf("%w: a page has more in it than its texts", ErrDamaged)
		}
		size := binary.LittleEndian.Uint32(buf)
		if uint64(size) > uint64(len(buf)-4) {
			return nil, fmt.Errorf("%w: a text is longer than its page", ErrDamaged)
		}
		texts = append(texts, string(buf[4:4+size]))
		buf = buf[4+size:]
	}
	if n != 0 {
		return nil, fmt.Errorf("%w: %d texts are missing from a page", ErrDamaged, n)
	}
	return texts, nil
}
