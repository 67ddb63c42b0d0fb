package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// Writer writes a file row by row: a value for every column, then EndRow. A row group
// is held in memory until it is full.
type Writer struct {
	to     io.Writer
	schema Schema
	order  []int // the columns that rows are sorted by
	zstd   *zstd.Encoder
	chunks []chunk
	rows   int // in the row group
	total  int64
	offset int64
	groups []group
	err    error
}

// group is what the footer says of a row group.
type group struct {
	columns []written
	rows    int
	size    int64
}

// written is what the footer says of a chunk.
type written struct {
	dictionary, data, packed, unpacked, values int64
	nulls                                      int
	least, most                                string
	bounded, plain                             bool
}

// NewWriter begins a file whose rows come sorted by some of its columns.
func NewWriter(to io.Writer, schema Schema, order ...int) (*Writer, error) {
	// One thread, so that the same rows make the same file; what has been packed well
	// by its encoding gains little from a better level.
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault))
	if err != nil {
		return nil, err
	}
	w := &Writer{to: to, schema: schema, order: order, zstd: encoder, chunks: make([]chunk, len(schema))}
	for i := range w.chunks {
		w.chunks[i].column = schema[i]
		w.chunks[i].reset()
	}
	w.write([]byte(magic))
	return w, w.err
}

// Text adds a text, or nothing if it is empty and the column is optional.
func (w *Writer) Text(column int, s string) {
	if s == "" && w.schema[column].Optional {
		w.chunks[column].null()
		return
	}
	w.chunks[column].text(s)
}

// UUID adds an id.
func (w *Writer) UUID(column int, id [16]byte) { w.chunks[column].uuid(id) }

// Number adds a time or a number.
func (w *Writer) Number(column int, n int64) { w.chunks[column].number(n) }

// Null leaves out the value of an optional column.
func (w *Writer) Null(column int) { w.chunks[column].null() }

// EndRow ends a row.
func (w *Writer) EndRow() error {
	size := 0
	for i := range w.chunks {
		size += w.chunks[i].size()
	}
	if w.rows++; w.rows == GroupRows || size >= groupBytes {
		w.endGroup()
	}
	return w.err
}

func (w *Writer) write(p []byte) {
	if w.err == nil {
		_, w.err = w.to.Write(p)
	}
	w.offset += int64(len(p))
}

func (w *Writer) endGroup() {
	if w.rows == 0 || w.err != nil {
		return
	}
	g := group{rows: w.rows}
	for i := range w.chunks {
		c := &w.chunks[i]
		done, err := w.endChunk(c)
		if w.err = errors.Join(w.err, err); w.err != nil {
			return
		}
		g.columns = append(g.columns, done)
		g.size += done.unpacked
		c.reset()
	}
	switch w.groups = append(w.groups, g); {
	case g.size > maxGroup:
		w.err = fmt.Errorf("a row is too large: row group %d has %d bytes, the limit is %d", len(w.groups), g.size, maxGroup)
	case len(w.groups) > maxGroups:
		w.err = fmt.Errorf("the file has more than %d row groups", maxGroups)
	}
	w.total += int64(w.rows)
	w.rows = 0
}

func (w *Writer) endChunk(c *chunk) (written, error) {
	begin := w.offset
	done := written{values: int64(w.rows), nulls: c.nulls, plain: c.plain || !c.column.Kind.dictionary(), dictionary: -1}
	done.least, done.most, done.bounded = c.bounds()
	if dictionary := c.dictionary(); dictionary != nil {
		done.dictionary = begin
		done.unpacked += w.page(dictionary, func(e *encoder) {
			e.nested(7, func() {
				e.i32(1, int64(len(c.entries)))
				e.i32(2, encodingPlain)
			})
		}, pageDictionary)
	}
	done.data = w.offset
	encoding := int64(encodingDictionary)
	if done.plain {
		encoding = encodingPlain
	}
	done.unpacked += w.page(c.page(), func(e *encoder) {
		e.nested(5, func() {
			e.i32(1, int64(w.rows))
			e.i32(2, encoding)
			e.i32(3, encodingRLE)
			e.i32(4, encodingRLE)
		})
	}, pageData)
	done.packed = w.offset - begin
	return done, w.err
}

// page writes a page, and returns how large it is unpacked.
func (w *Writer) page(body []byte, own func(*encoder), kind int64) int64 {
	packed := w.zstd.EncodeAll(body, nil)
	var e encoder
	e.structure(func() {
		e.i32(1, kind)
		e.i32(2, int64(len(body)))
		e.i32(3, int64(len(packed)))
		e.i32(4, checksum(packed))
		own(&e)
	})
	w.write(e.buf)
	w.write(packed)
	return int64(len(e.buf) + len(body))
}

// Close writes what is left and the footer.
func (w *Writer) Close() error {
	w.endGroup()
	if w.err != nil {
		return w.err
	}
	footer := w.footer()
	footer = binary.LittleEndian.AppendUint32(footer, uint32(len(footer)))
	w.write(slices.Concat(footer, []byte(magic)))
	return errors.Join(w.err, w.zstd.Close())
}
