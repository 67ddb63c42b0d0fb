package archive

import (
	"container/heap"
	"slices"

	"github.com/recoup-dev/recoup"
)

// bufferRows is how many events of a day are held in memory at once, bufferBytes how much
// memory they take. One event is held whatever its size.
const (
	bufferRows  = 50_000
	bufferBytes = 64 << 20
)

// buffer holds the newest events that were added to it, as far as there is room.
type buffer struct {
	heap  oldestFirst
	bytes int
	full  bool               // events were left out
	floor recoup.StoredEvent // the newest of them
}

// keep adds an event of a size. The oldest events make room for it; what is older than an
// event that was left out is left out as well, so that there is no gap.
func (b *buffer) keep(e recoup.StoredEvent, size int) {
	if b.full && compare(&e, &b.floor) < 0 {
		return
	}
	heap.Push(&b.heap, sized{e, size})
	b.bytes += size
	for len(b.heap) > bufferRows || b.bytes > bufferBytes && len(b.heap) > 1 {
		out := heap.Pop(&b.heap).(sized) //nolint:errcheck,forcetypeassert // nothing else is pushed
		b.bytes -= out.size
		b.full, b.floor = true, out.event
	}
}

// events returns the events, newest first.
func (b *buffer) events() []recoup.StoredEvent {
	slices.SortFunc(b.heap, func(x, y sized) int { return compare(&y.event, &x.event) })
	list := make([]recoup.StoredEvent, len(b.heap))
	for i := range b.heap {
		list[i] = b.heap[i].event
	}
	return list
}

// sized is an event and about how much memory it takes.
type sized struct {
	event recoup.StoredEvent
	size  int
}

// oldestFirst is a heap whose first element is the oldest.
type oldestFirst []sized

func (h oldestFirst) Len() int           { return len(h) }
func (h oldestFirst) Less(i, j int) bool { return compare(&h[i].event, &h[j].event) < 0 }
func (h oldestFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements [heap.Interface].
func (h *oldestFirst) Push(x any) { *h = append(*h, x.(sized)) } //nolint:errcheck // nothing else is pushed

// Pop implements [heap.Interface].
func (h *oldestFirst) Pop() any {
	last := (*h)[len(*h)-1]
	(*h)[len(*h)-1] = sized{} // its texts are free
	*h = (*h)[:len(*h)-1]
	return last
}
