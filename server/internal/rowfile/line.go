package rowfile

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// lines reads lines, and for CSV the lines of one record together.
type lines struct {
	r       *bufio.Reader
	longest int      // bytes that a row may have
	number  int      // of the last line read
	back    [][]byte // lines to be read again; nil: one that is too long
	join    bool     // a line with an open quote goes on in the next
	buf     []byte
}

// read returns the next line without its end, and its number. It is good until
// the next call.
func (l *lines) read() (line []byte, number int, err error) {
	line, err = l.one()
	number = l.number
	if err != nil || !l.join || bytes.Count(line, []byte{'"'})%2 == 0 {
		return line, number, err
	}
	record := append([]byte(nil), line...)
	var taken [][]byte
	for {
		more, err := l.one()
		if err == nil {
			taken = append(taken, append([]byte{}, more...))
			record = append(append(record, '\n'), more...)
		}
		switch {
		case err == nil && len(record) <= l.longest && bytes.Count(more, []byte{'"'})%2 == 1:
			return record, number, nil
		case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, ErrLong):
			return nil, number, err
		case err != nil || len(record) > l.longest:
			// The quote is never closed, or too late: only its own line is wrong.
			l.number -= len(taken)
			if err != nil {
				l.number--
			}
			if errors.Is(err, ErrLong) {
				taken = append(taken, nil)
			}
			l.back = append(taken, l.back...)
			return append(l.buf[:0], record[:bytes.IndexByte(append(record, '\n'), '\n')]...), number, nil
		}
	}
}

// one returns the next line of the file, or one that was given back.
func (l *lines) one() ([]byte, error) {
	l.number++
	if len(l.back) > 0 {
		line := l.back[0]
		if l.back = l.back[1:]; line == nil {
			return nil, ErrLong
		}
		return line, nil
	}
	l.buf = l.buf[:0]
	long := false
	for {
		part, err := l.r.ReadSlice('\n')
		if long = long || len(l.buf)+len(part) > l.longest+2; !long {
			l.buf = append(l.buf, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(part) == 0 && len(l.buf) == 0 && !long:
			return nil, io.EOF
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		case long:
			return nil, ErrLong
		}
		return bytes.TrimRight(l.buf, "\r\n"), nil
	}
}
