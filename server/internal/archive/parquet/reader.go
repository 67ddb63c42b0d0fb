package parquet

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Reader reads a file that a Writer wrote. Whatever the bytes are, it returns rows or an
// error that wraps ErrDamaged. It checks every size a file declares against the limits of
// this package before it allocates: reading takes the footer and twice a row group.
type Reader struct {
	from   io.ReaderAt
	size   int64
	schema Schema
	footer metadata
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
	switch {
	case string(tail[4:]) != magic:
		return nil, fmt.Errorf("%w: it does not end as a Parquet file does", ErrDamaged)
	case length > maxFooter:
		return nil, fmt.Errorf("%w: its footer has %d bytes, the limit is %d", ErrDamaged, length, maxFooter)
	}
	buf, err := r.bytes(size-8-length, length)
	if err != nil {
		return nil, err
	}
	if err := r.footer.read(buf, schema); err != nil {
		return nil, err
	}
	if err := r.footer.check(size - 8 - length); err != nil {
		return nil, err
	}
	// A page is decompressed into a buffer of the size it declares and no further.
	r.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(maxGroup), zstd.WithDecoderMaxWindow(maxGroup), zstd.WithDecodeAllCapLimit(true))
	return r, err
}

// Close frees what reading took.
func (r *Reader) Close() { r.zstd.Close() }

// Groups is how many row groups the file has.
func (r *Reader) Groups() int { return len(r.footer.groups) }

// Rows is how many rows the footer says the file has.
func (r *Reader) Rows() (n int64) {
	for i := range r.footer.groups {
		n += r.footer.groups[i].rows
	}
	return n
}

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

// TextBounds are the smallest and the largest text of a column in a row group, if the
// file says so.
func (r *Reader) TextBounds(group, column int) (least, most string, ok bool) {
	c := &r.footer.groups[group].columns[column]
	return c.least, c.most, c.bounds == 2
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
	v, err := r.read(&r.footer.groups[group], column)
	if err != nil {
		return Values{}, fmt.Errorf("column %s of row group %d: %w", r.schema[column].Name, group+1, err)
	}
	return v, nil
}

func (r *Reader) read(g *groupMeta, column int) (v Values, err error) {
	meta, n := &g.columns[column], g.rows
	if meta.codec != codecZstd || meta.values != n {
		return v, fmt.Errorf("%w: it has %d values for %d rows", ErrDamaged, meta.values, n)
	}
	var entries []string
	left := meta.unpacked
	if meta.dictionary >= 0 {
		p, err := r.page(pageDictionary, meta.dictionary, meta.data, left)
		if err != nil {
			return v, err
		}
		if p.values > maxDictionary {
			return v, fmt.Errorf("%w: its dictionary has %d values, the limit is %d", ErrDamaged, p.values, maxDictionary)
		}
		if entries, err = readTexts(p.body, p.values); err != nil {
			return v, err
		}
		left -= int64(len(p.body))
	}
	p, err := r.page(pageData, meta.data, meta.end, left)
	if err != nil {
		return v, err
	}
	if p.values != n {
		return v, fmt.Errorf("%w: its page has %d values for %d rows", ErrDamaged, p.values, n)
	}
	return r.schema[column].decode(p.body, int(n), p.encoding, entries)
}

// readTexts reads n texts, which are all that there is.
func readTexts(buf []byte, n int64) ([]string, error) {
	texts := make([]string, 0, max(0, min(n, int64(len(buf)/4))))
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
