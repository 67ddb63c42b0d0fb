package client

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// errSpoolFull is returned for lines that there is no room for.
var errSpoolFull = errors.New("the spool is full")

// spool keeps lines in a folder of append-only files, its segments. A line that
// append has accepted is on the disk and survives the process and the machine;
// it is forgotten with its segment, when all of that has been released. So lines
// may be read again after a crash, but never get lost.
//
// Each line is preceded by its checksum in a record of its own. A crash in the
// middle of a write can only tear the last one, which is then passed over. A
// segment of an earlier process is read and never written to.
//
// It is not safe for concurrent use.
type spool struct {
	dir     string
	max     int64 // bytes of all segments
	size    int64
	next    int64 // number of the next segment
	lock    *os.File
	file    *os.File // of the active segment, which is written to; nil: there is none
	active  *segment
	segment int64 // bytes from which on a segment is full
}

// segment is one file of a spool.
type segment struct {
	path string
	size int64
	live int // extents that have not been released
}

// extent is a run of records.
type extent struct {
	segment  *segment
	from, to int64
}

const (
	segmentSuffix = ".spool"

	// maxSegment is the highest number of a segment: names have twelve digits, so that they
	// sort by number.
	maxSegment   = 999_999_999_999
	segmentBytes = 1 << 20
)

// openSpool takes possession of a folder, which it makes if need be, and hands
// what an earlier process has left there to found, oldest first.
func openSpool(dir string, limit int64, found func(segment *segment, data []byte)) (*spool, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("client: spool: %w", err)
	}
	lock, err := lockFolder(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, fmt.Errorf("client: spool %s: %w", dir, err)
	}
	s := &spool{dir: dir, max: limit, lock: lock, segment: min(segmentBytes, limit/4)}
	if err := s.replay(found); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("client: spool: %w", err)
	}
	return s, nil
}

func (s *spool) replay(found func(*segment, []byte)) error {
	entries, err := os.ReadDir(s.dir) // by name, and their numbers have the same length
	if err != nil {
		return err
	}
	for _, entry := range entries {
		number, ours := strings.CutSuffix(entry.Name(), segmentSuffix)
		if !ours {
			continue
		}
		if n, err := strconv.ParseInt(number, 10, 64); err == nil && n < maxSegment { // another number is not ours
			s.next = max(s.next, n+1)
		}
		path := filepath.Join(s.dir, entry.Name())
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		seg := &segment{path: path, size: int64(len(data)), live: 1}
		s.size += seg.size
		found(seg, data)
		s.release(seg)
	}
	return nil
}

// append writes lines, each of which ends in a line break, and returns once they
// are safe. If it fails, none of them counts.
func (s *spool) append(lines []byte) (extent, error) {
	data := frame(lines)
	size := int64(len(data))
	if s.size+size > s.max {
		return extent{}, errSpoolFull
	}
	if s.file == nil || s.active.size > 0 && s.active.size+size > s.segment {
		if err := s.rotate(); err != nil {
			return extent{}, err
		}
	}
	_, err := s.file.Write(data)
	if err == nil {
		err = s.file.Sync()
	}
	if err != nil {
		return extent{}, errors.Join(err, s.file.Truncate(s.active.size), s.retire())
	}
	at := extent{s.active, s.active.size, s.active.size + size}
	s.active.size, s.size = at.to, s.size+size
	s.active.live++
	return at, nil
}

// rotate begins a new segment.
func (s *spool) rotate() error {
	if err := s.retire(); err != nil {
		return err
	}
	if s.next > maxSegment {
		return fmt.Errorf("%s has a segment with the highest number there is: remove it", s.dir)
	}
	path := filepath.Join(s.dir, fmt.Sprintf("%012d%s", s.next, segmentSuffix))
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	s.next++
	s.file, s.active = file, &segment{path: path}
	return syncFolder(s.dir)
}

// retire ends the active segment, and removes it if nobody needs it.
func (s *spool) retire() error {
	if s.file == nil {
		return nil
	}
	err, seg := s.file.Close(), s.active
	s.file, s.active = nil, nil
	if seg.live == 0 {
		s.remove(seg)
	}
	return err
}

// release forgets one extent of a segment, and with the last of them the
// segment. The active one is emptied instead, so that a program whose server is
// there makes no files.
func (s *spool) release(seg *segment) {
	seg.live--
	switch {
	case seg.live > 0:
	case seg != s.active:
		s.remove(seg)
	case s.file.Truncate(0) == nil:
		s.size -= seg.size
		seg.size = 0
	}
}

// remove deletes a segment. One that cannot be deleted is read again by the next
// process, which does no harm.
func (s *spool) remove(seg *segment) {
	_ = os.Remove(seg.path)
	s.size -= seg.size
}

// read returns the lines of an extent.
func (s *spool) read(at extent) ([]byte, error) {
	file, err := os.Open(at.segment.path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	data := make([]byte, at.to-at.from)
	if _, err := file.ReadAt(data, at.from); err != nil {
		return nil, err
	}
	var lines []byte
	for _, line := range records(data) {
		lines = append(append(lines, line...), '\n')
	}
	return lines, nil
}

// close leaves the folder to the next process.
func (s *spool) close() error { return errors.Join(s.retire(), s.lock.Close()) }

// A record is the checksum of a line in eight hexadecimal digits, a space, and
// the line.
const recordHead = 9

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// frame makes records of lines.
func frame(lines []byte) []byte {
	data := make([]byte, 0, len(lines)+recordHead*bytes.Count(lines, []byte{'\n'}))
	for line := range bytes.Lines(lines) {
		line = bytes.TrimSuffix(line, []byte{'\n'})
		data = fmt.Appendf(data, "%08x %s\n", crc32.Checksum(line, castagnoli), line)
	}
	return data
}

// records walks the lines of whole records, each with the offset behind it. What
// is torn or damaged is passed over.
func records(data []byte) func(yield func(end int64, line []byte) bool) {
	return func(yield func(int64, []byte) bool) {
		var end int64
		for record := range bytes.Lines(data) {
			end += int64(len(record))
			line := bytes.TrimSuffix(record, []byte{'\n'})
			if len(line) <= recordHead || line[recordHead-1] != ' ' {
				continue
			}
			sum, err := strconv.ParseUint(string(line[:recordHead-1]), 16, 32)
			if err != nil || sum != uint64(crc32.Checksum(line[recordHead:], castagnoli)) {
				continue
			}
			if !yield(end, line[recordHead:]) {
				return
			}
		}
	}
}
