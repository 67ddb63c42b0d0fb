package parquet

import "fmt"

// metadata is what a reader needs of the footer of a file.
type metadata struct {
	columns []columnMeta
	rows    int64
	groups  []groupMeta
}

// columnMeta describes a column.
type columnMeta struct {
	kind, repetition int64
	name             string
}

// groupMeta describes a row group.
type groupMeta struct {
	rows    int64
	columns []chunkMeta
}

// chunkMeta describes the values of a column in a row group.
type chunkMeta struct {
	codec, values, unpacked int64
	dictionary, data, end   int64 // where its pages begin, and what follows them; dictionary -1: none
	least, most             string
	bounds                  int // how many of least and most the file has
}

// read reads a footer of a file that has the schema.
func (m *metadata) read(buf []byte, schema Schema) error {
	d := decoder{buf: buf}
	m.rows = -1
	d.structure(func(id, wire int) bool {
		switch id {
		case 2:
			return d.structs(wire, len(schema)+1, "columns", func(n int) { m.columns = make([]columnMeta, n) }, func(i int) func(int, int) bool {
				return m.columns[i].reader(&d)
			})
		case 3:
			return d.number(wire, &m.rows)
		case 4:
			return d.structs(wire, maxGroups, "row groups", func(n int) { m.groups = make([]groupMeta, n) }, func(i int) func(int, int) bool {
				return m.groups[i].reader(&d, len(schema))
			})
		}
		return false
	})
	if d.err != nil {
		return d.err
	}
	if len(m.columns) != len(schema)+1 {
		return fmt.Errorf("%w: it has %d columns, not %d", ErrDamaged, max(0, len(m.columns)-1), len(schema))
	}
	for i, c := range schema {
		if e := &m.columns[i+1]; e.name != c.Name || e.kind != c.Kind.physical() || (e.repetition == 1) != c.Optional {
			return fmt.Errorf("%w: column %d is %q, not %q", ErrDamaged, i+1, e.name, c.Name)
		}
	}
	return m.count(len(schema))
}

// count compares the rows and the columns of the row groups with those of the file.
func (m *metadata) count(columns int) error {
	var sum int64
	for i := range m.groups {
		g := &m.groups[i]
		if g.rows <= 0 || g.rows > GroupRows || len(g.columns) != columns {
			return fmt.Errorf("%w: row group %d has %d rows and %d columns; allowed are 1 to %d rows and %d columns", ErrDamaged, i+1, g.rows, len(g.columns), GroupRows, columns)
		}
		sum += g.rows
	}
	if sum != m.rows {
		return fmt.Errorf("%w: its row groups have %d rows, not %d", ErrDamaged, sum, m.rows)
	}
	return nil
}

// check compares the sizes and places of the pages with the limits. Pages follow each
// other, so that no two chunks share one, and all end before the footer.
func (m *metadata) check(end int64) error {
	at := int64(len(magic))
	var last *int64
	for i := range m.groups {
		var unpacked int64
		for j := range m.groups[i].columns {
			c := &m.groups[i].columns[j]
			begin := c.data
			if c.dictionary >= 0 {
				begin = c.dictionary
			}
			if begin < at || c.data < begin || c.data == c.dictionary || c.data >= end {
				return fmt.Errorf("%w: the pages of column %d in row group %d overlap others or end beyond byte %d", ErrDamaged, j+1, i+1, end)
			}
			if last != nil {
				*last = begin
			}
			at, last = c.data+1, &c.end
			if unpacked += c.unpacked; c.unpacked < 0 || c.unpacked > maxGroup || unpacked > maxGroup {
				return fmt.Errorf("%w: row group %d has more than %d bytes", ErrDamaged, i+1, maxGroup)
			}
		}
	}
	if last != nil {
		*last = end
	}
	return nil
}

func (c *columnMeta) reader(d *decoder) func(id, wire int) bool {
	return func(id, wire int) bool {
		switch id {
		case 1:
			return d.number(wire, &c.kind)
		case 3:
			return d.number(wire, &c.repetition)
		case 4:
			return d.text(wire, maxBound, &c.name)
		}
		return false
	}
}

func (g *groupMeta) reader(d *decoder, columns int) func(id, wire int) bool {
	return func(id, wire int) bool {
		switch id {
		case 1:
			return d.structs(wire, columns, "columns of a row group", func(n int) { g.columns = make([]chunkMeta, n) }, func(i int) func(int, int) bool {
				c := &g.columns[i]
				c.dictionary = -1
				return func(id, wire int) bool { return id == 3 && d.nested(wire, c.reader(d)) }
			})
		case 3:
			return d.number(wire, &g.rows)
		}
		return false
	}
}

func (c *chunkMeta) reader(d *decoder) func(id, wire int) bool {
	return func(id, wire int) bool {
		switch id {
		case 4:
			return d.number(wire, &c.codec)
		case 5:
			return d.number(wire, &c.values)
		case 6:
			return d.number(wire, &c.unpacked)
		case 9:
			return d.number(wire, &c.data)
		case 11:
			return d.number(wire, &c.dictionary)
		case 12:
			return d.nested(wire, c.statistics(d))
		}
		return false
	}
}

func (c *chunkMeta) statistics(d *decoder) func(id, wire int) bool {
	return func(id, wire int) bool {
		switch id {
		case 5:
			c.bounds++
			return d.text(wire, maxBound, &c.most)
		case 6:
			c.bounds++
			return d.text(wire, maxBound, &c.least)
		}
		return false
	}
}
