package scheduler_test

import (
	"container/heap"
	"time"
)

// agenda is what happens when.
type agenda []entry

type entry struct {
	at time.Time
	do func() // nil: only notices are delivered
}

func (a agenda) Len() int           { return len(a) }
func (a agenda) Less(i, j int) bool { return a[i].at.Before(a[j].at) }
func (a agenda) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)        { *a = append(*a, x.(entry)) }
func (a *agenda) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

func (a *agenda) add(at time.Time, do func()) { heap.Push(a, entry{at, do}) }
