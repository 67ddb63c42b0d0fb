// Package parquet writes and reads files of one flat table in Apache Parquet, as much
// of that format as such a table needs: pages of the first version, PLAIN and dictionary
// encoding, zstd, checksums of pages, minima and maxima of row groups. What DuckDB, Spark
// and others read is the promise; what others write is not read here.
//
// The package knows columns and no events, reads no clock and opens no file.
package parquet

import "errors"

// Kind is what the values of a column are.
type Kind int

// The kinds of columns.
const (
	Text Kind = iota // UTF-8
	JSON             // a document of JSON, as text
	UUID             // 16 bytes
	Time             // microseconds since 1970, in UTC
	Int              // 32 bits
)

// Column is a column of a file. One that is optional may lack values.
type Column struct {
	Name     string
	Kind     Kind
	Optional bool
}

// Schema is the columns of a file, in their order.
type Schema []Column

// ErrDamaged is wrapped by whatever is wrong with a file that is read.
var ErrDamaged = errors.New("the file is damaged or is not one of Recoup's")

const (
	magic = "PAR1"

	// GroupRows is how many rows a row group has at most: as many as DuckDB reads at once.
	GroupRows = 122_880

	// groupBytes is the size at which a writer ends a row group, before compression. A
	// reader takes one of maxGroup, so that the last row of a group has room.
	groupBytes = 32 << 20
	maxGroup   = 64 << 20

	// maxGroups is how many row groups a file has at most, maxFooter how large its footer
	// is: two billion rows.
	maxGroups = 1 << 14
	maxFooter = 64 << 20

	// maxDictionary is how many different values a dictionary has at most. With more,
	// the values are written one by one.
	maxDictionary = 1 << 15
)

// The numbers that the format gives to things.
const (
	typeInt32, typeInt64, typeBytes, typeFixed = 1, 2, 6, 7

	encodingPlain, encodingRLE, encodingDictionary = 0, 3, 8

	codecZstd = 6

	pageData, pageDictionary = 0, 2
)

func (k Kind) physical() int64 {
	switch k {
	case UUID:
		return typeFixed
	case Time:
		return typeInt64
	case Int:
		return typeInt32
	default:
		return typeBytes
	}
}

// dictionary reports whether equal values are written once.
func (k Kind) dictionary() bool { return k == Text || k == JSON }
