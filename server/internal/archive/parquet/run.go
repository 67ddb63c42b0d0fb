package parquet

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
)

// Indexes into dictionaries, and which values are missing, are written as runs: a
// value that is repeated, or groups of eight values packed into as few bits as the
// largest takes.

// bitWidth is how many bits numbers below n take: one at least, as other writers have it.
func bitWidth(n int) int { return max(1, bits.Len(uint(max(n-1, 0)))) }

// appendRuns appends values of a width as runs.
func appendRuns(buf []byte, values []uint32, width int) []byte {
	packed := 0 // values[packed:i] wait to be packed, always a multiple of eight until the end
	i := 0
	for i < len(values) {
		n := 1
		for i+n < len(values) && values[i+n] == values[i] {
			n++
		}
		// A run may begin only where packed groups are whole.
		skip := (8 - (i-packed)%8) % 8
		if n-skip < 8 {
			i += n
			continue
		}
		buf = appendPacked(buf, values[packed:i+skip], width)
		buf = binary.AppendUvarint(buf, uint64(n-skip)<<1)
		for shift := 0; shift < width; shift += 8 {
			buf = append(buf, byte(values[i]>>shift))
		}
		i += n
		packed = i
	}
	return appendPacked(buf, values[packed:], width)
}

// appendPacked appends groups of eight; the last is filled up with zeros.
func appendPacked(buf []byte, values []uint32, width int) []byte {
	if len(values) == 0 {
		return buf
	}
	groups := (len(values) + 7) / 8
	buf = binary.AppendUvarint(buf, uint64(groups)<<1|1)
	var word uint64
	filled := 0
	for i := range groups * 8 {
		if i < len(values) {
			word |= uint64(values[i]) << filled
		}
		for filled += width; filled >= 8; filled -= 8 {
			buf = append(buf, byte(word))
			word >>= 8
		}
	}
	return buf
}

// readRuns reads n values of a width, each below limit.
func readRuns(buf []byte, n, width int, limit uint32) ([]uint32, error) {
	values := make([]uint32, 0, n)
	size := (width + 7) / 8
	for len(values) < n {
		head, used := binary.Uvarint(buf)
		if used <= 0 {
			return nil, fmt.Errorf("%w: %d of %d values are there", ErrDamaged, len(values), n)
		}
		buf = buf[used:]
		left := n - len(values)
		if head&1 == 0 {
			if len(buf) < size || head>>1 == 0 || head>>1 > uint64(left) {
				return nil, fmt.Errorf("%w: a run has %d values, %d are left", ErrDamaged, head>>1, left)
			}
			values = append(values, slices.Repeat([]uint32{littleEndian(buf[:size])}, int(head>>1))...)
			buf = buf[size:]
			continue
		}
		groups := head >> 1
		if groups == 0 || groups > uint64(len(buf)) || groups*uint64(width) > uint64(len(buf)) {
			return nil, fmt.Errorf("%w: a run is longer than its page", ErrDamaged)
		}
		values = unpack(values, buf[:groups*uint64(width)], min(uint64(left), groups*8), width)
		buf = buf[groups*uint64(width):]
	}
	if n > 0 && slices.Max(values) >= limit {
		return nil, fmt.Errorf("%w: value %d of %d", ErrDamaged, slices.Max(values), limit)
	}
	return values, nil
}

// littleEndian is the value of up to four bytes.
func littleEndian(buf []byte) (value uint32) {
	for i, b := range buf {
		value |= uint32(b) << (8 * i)
	}
	return value
}

// unpack appends n values that are packed in buf.
func unpack(values []uint32, buf []byte, n uint64, width int) []uint32 {
	var word uint64
	filled, mask := 0, uint64(1)<<width-1
	for range n {
		for filled < width {
			word |= uint64(buf[0]) << filled
			buf = buf[1:]
			filled += 8
		}
		values = append(values, uint32(word&mask))
		word >>= width
		filled -= width
	}
	return values
}
