package parquet

// createdBy names who wrote a file, in the form that readers know.
const createdBy = "recoup version 1"

// footer is the metadata of the file.
func (w *Writer) footer() []byte {
	var e encoder
	e.structure(func() {
		e.i32(1, 2) // the version of the format
		e.list(2, wireStruct, len(w.schema)+1)
		e.structure(func() {
			e.text(4, "event")
			e.i32(5, int64(len(w.schema)))
		})
		for _, c := range w.schema {
			e.element(c)
		}
		e.i64(3, w.total)
		e.list(4, wireStruct, len(w.groups))
		for i := range w.groups {
			w.describe(&e, &w.groups[i])
		}
		e.text(6, createdBy)
		e.list(7, wireStruct, len(w.schema)) // minima and maxima are in the order of the types
		for range w.schema {
			e.structure(func() { e.nested(1, func() {}) })
		}
	})
	return e.buf
}

// element describes a column.
func (e *encoder) element(c Column) {
	e.structure(func() {
		e.i32(1, c.Kind.physical())
		if c.Kind == UUID {
			e.i32(2, 16)
		}
		var repetition int64
		if c.Optional {
			repetition = 1
		}
		e.i32(3, repetition)
		e.text(4, c.Name)
		switch c.Kind {
		case Text:
			e.i32(6, 0) // UTF8
			e.nested(10, func() { e.nested(1, func() {}) })
		case JSON:
			e.i32(6, 19)
			e.nested(10, func() { e.nested(12, func() {}) })
		case UUID:
			e.nested(10, func() { e.nested(14, func() {}) })
		case Time:
			e.i32(6, 10) // TIMESTAMP_MICROS
			e.nested(10, func() {
				e.nested(8, func() {
					e.boolean(1, true) // UTC
					e.nested(2, func() { e.nested(2, func() {}) })
				})
			})
		case Int:
		}
	})
}

// describe describes a row group.
func (w *Writer) describe(e *encoder, g *group) {
	e.structure(func() {
		e.list(1, wireStruct, len(g.columns))
		for i := range g.columns {
			w.column(e, w.schema[i], &g.columns[i])
		}
		e.i64(2, g.size)
		e.i64(3, int64(g.rows))
		e.list(4, wireStruct, len(w.order))
		for _, column := range w.order {
			e.structure(func() {
				e.i32(1, int64(column))
				e.boolean(2, false)
				e.boolean(3, false)
			})
		}
	})
}

// column describes a chunk.
func (w *Writer) column(e *encoder, c Column, done *written) {
	e.structure(func() {
		e.i64(2, 0) // the metadata is here and not beside the pages
		e.nested(3, func() {
			e.i32(1, c.Kind.physical())
			encodings := []int64{encodingRLE, encodingPlain}
			if !done.plain {
				encodings = append(encodings, encodingDictionary)
			}
			e.list(2, wireI32, len(encodings))
			for _, n := range encodings {
				e.buf = append(e.buf, byte(n<<1)) // zigzag
			}
			e.list(3, wireBinary, 1)
			e.string(c.Name)
			e.i32(4, codecZstd)
			e.i64(5, done.values)
			e.i64(6, done.unpacked)
			e.i64(7, done.packed)
			e.i64(9, done.data)
			if done.dictionary >= 0 {
				e.i64(11, done.dictionary)
			}
			e.nested(12, func() {
				e.i64(3, int64(done.nulls))
				if done.bounded {
					e.text(5, done.most)
					e.text(6, done.least)
				}
			})
		})
	})
}
