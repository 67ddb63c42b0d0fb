package parquet

import "fmt"

// page is a page that was read.
type page struct {
	kind, unpacked, packed, sum int64
	values, encoding            int64
	body                        []byte
}

// maxHeader is how long the header of a page may be: ours have less than 60 bytes.
const maxHeader = 1024

// head reads the header of a page, and returns how long it is.
func (p *page) head(buf []byte) (int, error) {
	d := decoder{buf: buf}
	own := func(id, wire int) bool {
		switch id {
		case 1:
			return d.number(wire, &p.values)
		case 2:
			return d.number(wire, &p.encoding)
		}
		return false
	}
	d.structure(func(id, wire int) bool {
		switch id {
		case 1:
			return d.number(wire, &p.kind)
		case 2:
			return d.number(wire, &p.unpacked)
		case 3:
			return d.number(wire, &p.packed)
		case 4:
			return d.number(wire, &p.sum)
		case 5, 7: // of a page of data, of a dictionary
			return d.nested(wire, own)
		}
		return false
	})
	return d.at, d.err
}

// page reads a page that begins at a byte and ends before another. It has at most so many
// bytes once it is decompressed.
func (r *Reader) page(kind, at, end, most int64) (p page, err error) {
	buf, err := r.bytes(at, min(maxHeader, end-at))
	if err != nil {
		return p, err
	}
	size, err := p.head(buf)
	at += int64(size)
	switch {
	case err != nil:
		return p, err
	case p.kind != kind:
		return p, fmt.Errorf("%w: the page at byte %d is of another kind", ErrDamaged, at)
	case p.unpacked < 0 || p.unpacked > most:
		return p, fmt.Errorf("%w: the page at byte %d has %d bytes, the limit is %d", ErrDamaged, at, p.unpacked, most)
	case p.packed < 0 || p.packed > end-at:
		return p, fmt.Errorf("%w: the page at byte %d has %d bytes compressed, there are %d", ErrDamaged, at, p.packed, end-at)
	case p.values < 0 || p.values > GroupRows:
		return p, fmt.Errorf("%w: the page at byte %d has %d values, the limit is %d", ErrDamaged, at, p.values, GroupRows)
	}
	if buf, err = r.bytes(at, p.packed); err != nil {
		return p, err
	}
	if checksum(buf) != p.sum {
		return p, fmt.Errorf("%w: the page at byte %d does not have its checksum", ErrDamaged, at)
	}
	p.body, err = r.zstd.DecodeAll(buf, make([]byte, 0, p.unpacked))
	switch {
	case err != nil:
		return p, fmt.Errorf("%w: the page at byte %d is not %d bytes of zstd: %w", ErrDamaged, at, p.unpacked, err)
	case int64(len(p.body)) != p.unpacked:
		return p, fmt.Errorf("%w: the page at byte %d is not %d bytes of zstd but %d", ErrDamaged, at, p.unpacked, len(p.body))
	}
	return p, nil
}
