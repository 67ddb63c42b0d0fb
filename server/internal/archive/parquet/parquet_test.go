package parquet_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup/server/internal/archive/parquet"
)

var schema = parquet.Schema{
	{Name: "id", Kind: parquet.UUID},
	{Name: "code", Kind: parquet.Text},
	{Name: "place", Kind: parquet.Text, Optional: true},
	{Name: "status", Kind: parquet.Int, Optional: true},
	{Name: "details", Kind: parquet.JSON, Optional: true},
	{Name: "ts", Kind: parquet.Time},
}

// line is a row of the schema.
type line struct {
	ID      [16]byte
	Code    string
	Place   string
	Status  int64 // 0: none
	Details string
	TS      int64
}

func write(t interface{ Fatal(...any) }, lines []line) []byte {
	var file bytes.Buffer
	w, err := parquet.NewWriter(&file, schema, 1, 5, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		w.UUID(0, l.ID)
		w.Text(1, l.Code)
		w.Text(2, l.Place)
		if l.Status == 0 {
			w.Null(3)
		} else {
			w.Number(3, l.Status)
		}
		w.Text(4, l.Details)
		w.Number(5, l.TS)
		if err := w.EndRow(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func read(file []byte) (lines []line, err error) {
	r, err := parquet.NewReader(bytes.NewReader(file), int64(len(file)), schema)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for g := range r.Groups() {
		var columns [6]parquet.Values
		for c := range schema {
			if columns[c], err = r.Read(g, c); err != nil {
				return nil, err
			}
		}
		for i := range columns[0].UUIDs {
			lines = append(lines, line{columns[0].UUIDs[i], columns[1].Texts[i], columns[2].Texts[i], columns[3].Numbers[i], columns[4].Texts[i], columns[5].Numbers[i]})
		}
	}
	return lines, nil
}

// Whatever is written is read: runs of any length, many and few different values, gaps.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var lines []line
		for range rapid.IntRange(0, 12).Draw(t, "runs") {
			few := rapid.SampledFrom([]string{"", "a", "b", "ein Wört", "a,\"b\"\n"})
			l := line{Code: few.Draw(t, "code"), Place: few.Draw(t, "place"), Status: rapid.Int64Range(0, 3).Draw(t, "status"), Details: few.Draw(t, "details"), TS: rapid.Int64().Draw(t, "ts")}
			spread := rapid.Bool().Draw(t, "spread")
			for i := range rapid.IntRange(1, 40).Draw(t, "long") {
				l.ID[i%16]++
				if spread {
					l.Place = fmt.Sprint("place ", i)
				}
				lines = append(lines, l)
			}
		}
		got, err := read(write(t, lines))
		if err != nil || !reflect.DeepEqual(got, lines) {
			t.Fatalf("%v\nread    %v\nwritten %v", err, got, lines)
		}
	})
}

// More rows than a row group has, and more different values than a dictionary.
func TestManyRows(t *testing.T) {
	t.Parallel()
	lines := make([]line, parquet.GroupRows+1000)
	for i := range lines {
		lines[i] = line{ID: [16]byte{byte(i), byte(i >> 8), byte(i >> 16)}, Code: fmt.Sprint("CODE_", i/1000), Place: fmt.Sprint(i), TS: int64(i)}
	}
	file := write(t, lines)
	got, err := read(file)
	if err != nil || !reflect.DeepEqual(got, lines) {
		t.Fatalf("%d of %d rows, or not the same: %v", len(got), len(lines), err)
	}
	r, err := parquet.NewReader(bytes.NewReader(file), int64(len(file)), schema)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	least, most, ok := r.TextBounds(1, 1)
	from, to, timed := r.NumberBounds(1, 5)
	if r.Groups() != 2 || !ok || least != "CODE_122" || most != "CODE_123" || !timed || from != parquet.GroupRows || to != int64(len(lines)-1) {
		t.Errorf("%d groups; codes %q to %q; times %d to %d", r.Groups(), least, most, from, to)
	}
}

// The same rows are the same bytes: a file that is written again is not a new version.
func TestSameRowsSameFile(t *testing.T) {
	t.Parallel()
	lines := []line{{Code: "A", Place: "x", TS: 1}, {Code: "B", TS: 2}}
	if !bytes.Equal(write(t, lines), write(t, lines)) {
		t.Error("two files of the same rows differ")
	}
}

// A changed byte of a page is found. The format has no checksum of the footer: there a
// changed byte leads to an error or is read, and never to anything else.
func TestChangedBytes(t *testing.T) {
	t.Parallel()
	lines := []line{{Code: "A", Place: "x", TS: 1}, {Code: "B", Details: "{}", TS: 2}}
	whole := write(t, lines)
	pages := len(whole) - 8 - int(binary.LittleEndian.Uint32(whole[len(whole)-8:]))
	for i := range whole {
		file := bytes.Clone(whole)
		file[i] ^= 0x55
		if got, err := read(file); err != nil && !errors.Is(err, parquet.ErrDamaged) || err == nil && i < pages && !reflect.DeepEqual(got, lines) {
			t.Errorf("byte %d: %v, %v", i, got, err)
		}
		if got, err := read(whole[:i]); !errors.Is(err, parquet.ErrDamaged) {
			t.Errorf("cut after %d bytes: %v, %v", i, got, err)
		}
	}
}

// A column that the reader does not expect is refused.
func TestOtherSchema(t *testing.T) {
	t.Parallel()
	file := write(t, nil)
	other := append(parquet.Schema{{Name: "other", Kind: parquet.UUID}}, schema[1:]...)
	for _, s := range []parquet.Schema{other, schema[1:]} {
		if _, err := parquet.NewReader(bytes.NewReader(file), int64(len(file)), s); !errors.Is(err, parquet.ErrDamaged) {
			t.Errorf("%v", err)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add(write(f, nil))
	f.Add(write(f, []line{{Code: "A", Place: "x", TS: 1}, {Code: "B", Status: 4, Details: "{}", TS: 2}}))
	f.Add(write(f, make([]line, 100)))
	f.Fuzz(func(t *testing.T, file []byte) {
		if _, err := read(file); err != nil && !errors.Is(err, parquet.ErrDamaged) {
			t.Errorf("%v", err)
		}
	})
}
