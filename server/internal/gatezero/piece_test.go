package gatezero_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup/server/internal/gatezero"
)

// rowsOf reads all rows of a file: line, company and whether it is refused.
func rowsOf(t interface{ Fatal(...any) }, rows *gatezero.Rows) (list []string) {
	all, err := rows.Take(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		list = append(list, fmt.Sprintf("%d %q %t", r.Line, r.Intake.CompanyName, r.Err != nil))
	}
	return list
}

// A file says the same in pieces, each parsed alone, and as a whole: no record is
// cut, and every row has the line that it has in the file.
func TestPiecesAreTheFile(t *testing.T) {
	t.Parallel()
	line := rapid.SampledFrom([]string{
		"", "   ", "Acme", "\"Acme", "Acme\"", "\"Tick\nTrick\"", "\"a \"\"b\"\" c\"", "a,b", strings.Repeat("x", 17<<10), strings.Repeat("y", 9<<10), "\"" + strings.Repeat("z", 9<<10),
	})
	rapid.Check(t, func(t *rapid.T) {
		format := rapid.SampledFrom([]gatezero.Format{gatezero.CSV, gatezero.NDJSON}).Draw(t, "format")
		lines := rapid.SliceOfN(line, 0, 12).Draw(t, "lines")
		text := strings.Join(lines, rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end"))
		if format == gatezero.CSV {
			text = "company_name\n" + text
		}
		comparePieces(t, format, text, rapid.IntRange(1, 5).Draw(t, "rows"))
	})
}

func comparePieces(t interface{ Fatal(...any) }, format gatezero.Format, text string, n int) {
	open := func(data string) *gatezero.Rows {
		rows, err := gatezero.ReadRows(format, strings.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	whole, file := rowsOf(t, open(text)), open(text)
	var got []string
	for {
		piece, err := file.Piece(n)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if piece.Rows > 0 {
			rows := open(string(bytes.Clone(piece.Data)))
			rows.From(piece.Line)
			got = append(got, rowsOf(t, rows)...)
		}
		for _, line := range piece.Long {
			got = append(got, fmt.Sprintf("%d %q true", line, ""))
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(whole) {
		t.Fatal(fmt.Sprintf("in pieces of %d: %v\nas a whole: %v\n%.300q", n, got, whole, text))
	}
}
