// Package parquettest crafts Parquet files that declare more than they have, for tests of
// readers. It writes the format by itself, because a Writer refuses to write such files.
package parquettest

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/recoup-dev/recoup/server/internal/archive/parquet"
)

// File is a crafted file.
type File struct {
	Name  string
	Bytes []byte
	Want  string // part of the error of a reader; empty: the file is within the limits
}

// Files returns crafted files of a schema whose last column is text. All are smaller than
// 4 MB; read without limits, some take gigabytes of memory.
func Files(schema parquet.Schema) []File {
	const large = 3 << 20
	tail := func(footer []byte) []byte { return finish([]byte("PAR1"), footer) }
	one := func(change func(*draft)) []byte {
		d := draft{schema: schema, groups: 1, rows: 8}
		change(&d)
		return d.file()
	}
	const bomb = 250 << 20
	return []File{
		{"footer length", append(make([]byte, 100), "\xf0\xff\xff\xffPAR1"...), "its footer has 4294967280 bytes, the limit is"},
		{"nested structs", tail(bytes.Repeat([]byte{0x1c}, large)), "more than 16 structs within structs"},
		{"nested lists", tail(append([]byte{0xf9}, bytes.Repeat([]byte{0x19}, large)...)), "more than 16 structs within structs"},
		{"empty structs", tail(append(list(0xf9, large, 0), 0)), "it has 0 columns"},
		{"structs of one field", tail(append(list(0xf9, large/2, 0x11, 0), 0)), "it has 0 columns"},
		{"row groups", tail(list(0x49, large, 0)), "3145728 row groups, where at most 16384 are allowed"},
		{"columns", tail(list(0x29, large, 0)), "3145728 columns, where at most"},
		{"list without elements", tail([]byte{0x49, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x0f}), "a length beyond its end"},
		{"page size", one(func(d *draft) { d.unpacked = 1<<31 - 1 }), "has 2147483647 bytes, the limit is"},
		{"negative page size", one(func(d *draft) { d.unpacked = -5 }), "has -5 bytes, the limit is"},
		{"chunk size", one(func(d *draft) { d.declared = 1 << 40 }), "has more than 67108864 bytes"},
		{"dictionary of a bomb", one(func(d *draft) { d.dictionary, d.entries = bomb, bomb/4 }), "has more than 67108864 bytes"},
		{"hidden bomb", one(func(d *draft) { d.dictionary, d.entries, d.declared = bomb, bomb/4, 4096 }), "bytes, the limit is 4096"},
		{"bomb without its size", one(func(d *draft) { d.dictionary, d.unpacked, d.declared, d.stream = bomb, 512, 4096, true }), "is not 512 bytes of zstd"},
		{"dictionary entries", one(func(d *draft) { d.dictionary, d.entries = 4*100_000, 100_000 }), "its dictionary has 100000 values, the limit is 32768"},
		{"values", one(func(d *draft) { d.values = 1 << 31 }), "it has 2147483648 values for 8 rows"},
		{"rows", one(func(d *draft) { d.rows = 1 << 20 }), "allowed are 1 to 122880 rows"},
		{"runs", one(func(d *draft) { d.run = 1 << 31 }), "a run has 2147483648 values, 8 are left"},
		{"the same page", one(func(d *draft) { d.overlap = true }), "overlap others"},
		{"every column", one(func(d *draft) { d.all = 60 << 20 }), "has more than 67108864 bytes"},
		{"large details", (&draft{schema: schema, groups: 6, rows: 3500, plain: `{"field":"` + strings.Repeat("x", 15_000) + `"}`}).file(), ""},
	}
}

// list is a field that is a list of n structs of the same bytes.
func list(field byte, n int, element ...byte) []byte {
	return append(binary.AppendUvarint([]byte{field, 0xfc}, uint64(n)), bytes.Repeat(element, n)...)
}

func finish(file, footer []byte) []byte {
	file = append(file, footer...)
	return append(binary.LittleEndian.AppendUint32(file, uint32(len(footer))), "PAR1"...)
}

// draft is a file whose columns have the value zero in all rows, except for what is set.
// What is changed is the first column of text.
type draft struct {
	schema       parquet.Schema
	groups, rows int

	dictionary int    // the size of the dictionary, which is zeros: empty texts
	entries    int64  // how many values it has
	unpacked   int64  // the size that its page declares
	declared   int64  // the size that the chunk declares
	values     int64  // the values that the chunk declares
	run        uint64 // the length of the run of indexes
	stream     bool   // zstd without the size of the content
	overlap    bool   // all columns have the pages of the first
	all        int    // the size of the dictionary of all columns of text
	plain      string // the value of the last column
}

// chunk is what the footer says of a column.
type chunk struct{ dictionary, data, unpacked, values int64 }

func (d *draft) file() []byte {
	file := []byte("PAR1")
	var chunks []chunk
	var same []byte
	for range d.groups {
		first := true
		for i, c := range d.schema {
			from := len(file)
			at := d.column(&file, i, first && c.Kind == parquet.Text)
			first = first && c.Kind != parquet.Text
			if d.overlap && same != nil && c.Kind == parquet.Text {
				at.dictionary, at.data = chunks[0].dictionary, chunks[0].data
			}
			same = file[from:]
			chunks = append(chunks, at)
		}
	}
	return finish(file, d.footer(chunks))
}

func (d *draft) column(file *[]byte, i int, changed bool) chunk {
	c, at := d.schema[i], chunk{dictionary: -1, values: int64(d.rows)}
	var body []byte
	if c.Optional {
		levels := append(binary.AppendUvarint(nil, uint64(d.rows)<<1), 1)
		body = append(binary.LittleEndian.AppendUint32(nil, uint32(len(levels))), levels...)
	}
	encoding := int64(0)
	switch {
	case c.Kind == parquet.UUID:
		body = append(body, make([]byte, 16*min(d.rows, 1<<17))...)
	case c.Kind == parquet.Time:
		body = append(body, make([]byte, 8*min(d.rows, 1<<17))...)
	case c.Kind == parquet.Int:
		body = append(body, make([]byte, 4*min(d.rows, 1<<17))...)
	case d.plain != "" && i == len(d.schema)-1:
		for range d.rows {
			body = append(binary.LittleEndian.AppendUint32(body, uint32(len(d.plain))), d.plain...)
		}
	default:
		encoding = 8
		run := uint64(d.rows)
		if changed && d.run > 0 {
			run = d.run
		}
		body = append(binary.AppendUvarint(append(body, 1), run<<1), 0)
		at.dictionary = int64(len(*file))
		at.unpacked = d.dictionaryPage(file, changed)
	}
	at.data = int64(len(*file))
	*file = append(*file, header(0, int64(len(body)), pack(body), 5, int64(d.rows), encoding)...)
	at.unpacked += int64(len(body)) + 60
	if changed && d.declared != 0 {
		at.unpacked = d.declared
	}
	if changed && d.values != 0 {
		at.values = d.values
	}
	return at
}

func (d *draft) dictionaryPage(file *[]byte, changed bool) int64 {
	size, entries, stream := 4, int64(1), false
	switch {
	case d.all != 0:
		size, entries = d.all, int64(d.all/4)
	case changed && d.dictionary != 0:
		size, entries, stream = d.dictionary, d.entries, d.stream
	}
	declared := int64(size)
	if changed && d.unpacked != 0 {
		declared = d.unpacked
	}
	*file = append(*file, header(2, declared, zeros(size, stream), 7, entries, 0)...)
	return int64(size) + 60
}

// zeros is a frame of zstd with n zeros, made without having them. A stream does not say how
// large its content is.
func zeros(n int, stream bool) []byte {
	buf := []byte{0x28, 0xb5, 0x2f, 0xfd}
	if stream {
		buf = append(buf, 0, 0x58) // a window of 2 MB
	} else {
		buf = binary.LittleEndian.AppendUint32(append(buf, 0xa0), uint32(n)) // one segment
	}
	const block = 128 << 10
	for ; n > 0; n -= block {
		head := uint32(min(n, block))<<3 | 1<<1 // a byte that is repeated
		if n <= block {
			head |= 1 // the last
		}
		buf = append(buf, byte(head), byte(head>>8), byte(head>>16), 0)
	}
	return buf
}

func pack(body []byte) []byte {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err) // options that are no options
	}
	return w.EncodeAll(body, nil)
}

// header is a page: its header and its body.
func header(kind, unpacked int64, packed []byte, own byte, values, encoding int64) []byte {
	buf := field(nil, 1, 5, kind)
	buf = field(buf, 1, 5, unpacked)
	buf = field(buf, 1, 5, int64(len(packed)))
	buf = field(buf, 1, 5, int64(int32(crc32.ChecksumIEEE(packed))))
	buf = append(buf, (own-4)<<4|12)
	buf = field(buf, 1, 5, values)
	buf = field(buf, 1, 5, encoding)
	return append(append(buf, 0, 0), packed...)
}

// field is a number whose field is so far behind the last.
func field(buf []byte, delta, wire byte, n int64) []byte {
	return binary.AppendVarint(append(buf, delta<<4|wire), n)
}

func (d *draft) footer(chunks []chunk) []byte {
	buf := binary.AppendUvarint([]byte{0x15, 4, 0x19, 0xfc}, uint64(len(d.schema)+1))
	buf = append(buf, 0) // the root
	for _, c := range d.schema {
		optional := int64(0)
		if c.Optional {
			optional = 1
		}
		buf = field(buf, 1, 5, physical(c.Kind))
		buf = field(buf, 2, 5, optional)
		buf = append(binary.AppendUvarint(append(buf, 0x18), uint64(len(c.Name))), c.Name...)
		buf = append(buf, 0)
	}
	buf = field(buf, 1, 6, int64(d.rows*d.groups))
	buf = binary.AppendUvarint(append(buf, 0x19, 0xfc), uint64(d.groups))
	for group := range slices.Chunk(chunks, len(d.schema)) {
		buf = binary.AppendUvarint(append(buf, 0x19, 0xfc), uint64(len(group)))
		for _, c := range group {
			buf = append(buf, 0x3c)
			buf = field(buf, 4, 5, 6) // zstd
			buf = field(buf, 1, 6, c.values)
			buf = field(buf, 1, 6, c.unpacked)
			buf = field(buf, 3, 6, c.data)
			if c.dictionary >= 0 {
				buf = field(buf, 2, 6, c.dictionary)
			}
			buf = append(buf, 0, 0)
		}
		buf = append(field(buf, 2, 6, int64(d.rows)), 0)
	}
	return append(buf, 0)
}

func physical(k parquet.Kind) int64 {
	switch k {
	case parquet.UUID:
		return 7
	case parquet.Time:
		return 2
	case parquet.Int:
		return 1
	case parquet.Text, parquet.JSON:
	}
	return 6
}
