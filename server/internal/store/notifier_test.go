package store_test

import (
	"slices"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/store"
)

func TestBell(t *testing.T) {
	var b store.Notifier
	b.Notify(store.WakeErrors) // nobody listens
	first, second := b.Subscribe(), b.Subscribe()
	b.Notify()
	if len(first.Ready()) != 0 {
		t.Error("woken by nothing")
	}
	for range 3 {
		b.Notify(store.WakePolicy, store.WakeErrors)
		b.Notify(store.WakePolicy)
	}
	<-first.Ready()
	if got := first.Take(); !slices.Equal(got, []string{store.WakeErrors, store.WakePolicy}) {
		t.Errorf("took %v", got)
	}
	if got := first.Take(); len(got) != 0 || len(first.Ready()) != 0 {
		t.Errorf("took %v again", got)
	}
	first.Close()
	b.Notify(store.WakeNotices)
	if len(first.Take()) != 0 || !slices.Equal(second.Take(), []string{store.WakeErrors, store.WakeNotices, store.WakePolicy}) {
		t.Error("one who left was notified, or one who stayed was not")
	}
}
