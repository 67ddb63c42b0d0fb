package client

import (
	"bytes"
	"testing"
)

// A batch on its way takes no more events: if it must be sent again, it is the
// same request.
func TestBatchOnItsWay(t *testing.T) {
	t.Parallel()
	for _, spooled := range []bool{false, true} {
		b := newBacklog(10, 100)
		if spooled {
			if err := b.open(t.TempDir(), 1<<20); err != nil {
				t.Fatal(err)
			}
		}
		b.put(lines(0, 2))
		b.put(lines(2, 2)) // joins the first, which waits
		for range 2 {
			if first, got, err := b.head(); err != nil || first.n != 4 || !bytes.Equal(got, lines(0, 4)) {
				t.Errorf("spooled %t: the first batch is %q, %v", spooled, got, err)
			}
			b.put(lines(4, 1))
		}
		b.replace()
		if next, got, err := b.head(); err != nil || next.n != 2 || !bytes.Equal(got, append(lines(4, 1), lines(4, 1)...)) {
			t.Errorf("spooled %t: the next batch is %q, %v", spooled, got, err)
		}
		if err := b.close(); err != nil {
			t.Error(err)
		}
	}
}

// Memory has a bound in events, and room again when some are done with.
func TestRoom(t *testing.T) {
	t.Parallel()
	b := newBacklog(4, 10)
	for _, step := range []struct{ put, lost int }{{7, 0}, {5, 2}, {3, 3}} {
		if lost := b.put(lines(0, step.put)); lost != step.lost {
			t.Errorf("of %d events %d were lost, want %d", step.put, lost, step.lost)
		}
	}
	if _, _, err := b.head(); err != nil {
		t.Fatal(err)
	}
	b.replace(lines(0, 3)) // one of four is done with
	if lost := b.put(lines(0, 3)); lost != 2 || b.waiting() != 10 {
		t.Errorf("%d were lost, %d wait", lost, b.waiting())
	}
	for range 20 {
		if first, _, err := b.head(); err != nil || first == nil {
			break
		}
		b.replace()
	}
	if b.waiting() != 0 || b.held != 0 {
		t.Errorf("%d wait, %d of them in memory", b.waiting(), b.held)
	}
}

// A segment stays for as long as a part of it is not delivered.
func TestPartsKeepTheirSegment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBacklog(10, 10)
	if err := b.open(dir, 1<<20); err != nil {
		t.Fatal(err)
	}
	b.put(lines(0, 4))
	if _, _, err := b.head(); err != nil {
		t.Fatal(err)
	}
	b.replace(lines(0, 2), lines(2, 2))
	b.replace()
	if b.spool.size == 0 {
		t.Error("the spool has forgotten what is not delivered")
	}
	b.replace()
	if b.spool.size != 0 || b.waiting() != 0 {
		t.Errorf("%d bytes are left, %d events wait", b.spool.size, b.waiting())
	}
	if err := b.close(); err != nil {
		t.Error(err)
	}
}
