package parquet

import (
	"encoding/binary"
	"hash/crc32"
)

// chunk is the values of one column in one row group, while they are gathered.
type chunk struct {
	column  Column
	present []uint32          // per row, 1 if it has a value; of optional columns
	numbers []int64           // of Time and Int
	bytes   []byte            // of UUID, and of text that has no dictionary, as PLAIN has it
	known   map[string]uint32 // text: the place of a value in the dictionary
	entries []string          // text: the dictionary
	indexes []uint32          // text: one per value
	plain   bool              // text: the dictionary became too large
	unique  int               // text: the bytes of the dictionary
	raw     int               // text: the bytes of all values, as PLAIN has them
	nulls   int
	least   string // the smallest value, as statistics have it
	most    string
	some    bool
}

func (c *chunk) reset() {
	*c = chunk{column: c.column, present: c.present[:0], numbers: c.numbers[:0], bytes: c.bytes[:0], indexes: c.indexes[:0], entries: c.entries[:0], known: map[string]uint32{}}
}

func (c *chunk) null() {
	c.present = append(c.present, 0)
	c.nulls++
}

func (c *chunk) value() {
	if c.column.Optional {
		c.present = append(c.present, 1)
	}
}

func (c *chunk) number(n int64) {
	c.value()
	c.numbers = append(c.numbers, n)
}

func (c *chunk) uuid(id [16]byte) {
	c.value()
	c.bytes = append(c.bytes, id[:]...)
}

func (c *chunk) text(s string) {
	c.value()
	c.raw += 4 + len(s)
	if c.plain {
		c.bytes = appendText(c.bytes, s)
		c.bound(s)
		return
	}
	index, ok := c.known[s]
	if !ok {
		index = uint32(len(c.entries))
		c.entries = append(c.entries, s)
		c.known[s] = index
		c.unique += 4 + len(s)
		c.bound(s)
	}
	if c.indexes = append(c.indexes, index); len(c.entries) > maxDictionary {
		c.giveUpDictionary()
	}
}

func (c *chunk) giveUpDictionary() {
	c.plain = true
	for _, i := range c.indexes {
		c.bytes = appendText(c.bytes, c.entries[i])
	}
	c.indexes, c.entries, c.known = c.indexes[:0], c.entries[:0], nil
}

// size is how large the pages of the chunk become at most, even if the next value is one
// too many for the dictionary.
func (c *chunk) size() int {
	if c.plain || len(c.entries) == maxDictionary {
		return len(c.present)/8 + c.raw
	}
	return len(c.present)/8 + len(c.bytes) + 8*len(c.numbers) + 2*len(c.indexes) + c.unique
}

// bound keeps the smallest and the largest text.
func (c *chunk) bound(s string) {
	if !c.some || s < c.least {
		c.least = s
	}
	if !c.some || s > c.most {
		c.most = s
	}
	c.some = true
}

func appendText(buf []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint32(buf, uint32(len(s))), s...)
}

// page is the body of the chunk's data page, before it is compressed.
func (c *chunk) page() []byte {
	var buf []byte
	if c.column.Optional {
		levels := appendRuns(nil, c.present, 1)
		buf = append(binary.LittleEndian.AppendUint32(buf, uint32(len(levels))), levels...)
	}
	switch {
	case c.column.Kind == Time:
		for _, n := range c.numbers {
			buf = binary.LittleEndian.AppendUint64(buf, uint64(n))
		}
	case c.column.Kind == Int:
		for _, n := range c.numbers {
			buf = binary.LittleEndian.AppendUint32(buf, uint32(n))
		}
	case c.column.Kind == UUID || c.plain:
		buf = append(buf, c.bytes...)
	default:
		width := bitWidth(len(c.entries))
		buf = appendRuns(append(buf, byte(width)), c.indexes, width)
	}
	return buf
}

// dictionary is the body of the chunk's dictionary page, or nil if it has none.
func (c *chunk) dictionary() []byte {
	if !c.column.Kind.dictionary() || c.plain {
		return nil
	}
	buf := []byte{}
	for _, s := range c.entries {
		buf = appendText(buf, s)
	}
	return buf
}

// bounds are the smallest and the largest value as statistics have them. Ids have
// none: nobody looks for a range of them.
func (c *chunk) bounds() (least, most string, ok bool) {
	switch {
	case c.column.Kind.dictionary():
		return c.least, c.most, c.some && len(c.least) <= maxBound && len(c.most) <= maxBound
	case len(c.numbers) == 0:
		return "", "", false
	}
	low, high := c.numbers[0], c.numbers[0]
	for _, n := range c.numbers {
		low, high = min(low, n), max(high, n)
	}
	if c.column.Kind == Int {
		return string(binary.LittleEndian.AppendUint32(nil, uint32(low))), string(binary.LittleEndian.AppendUint32(nil, uint32(high))), true
	}
	return string(binary.LittleEndian.AppendUint64(nil, uint64(low))), string(binary.LittleEndian.AppendUint64(nil, uint64(high))), true
}

// maxBound is how long a text in statistics may be.
const maxBound = 64

func checksum(page []byte) int64 { return int64(int32(crc32.ChecksumIEEE(page))) }
