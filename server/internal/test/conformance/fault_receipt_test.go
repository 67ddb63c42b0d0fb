package conformance

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

func receiptMistakes() []mistake {
	reporting := func(change func(m *memory, r *store.Receipt, now time.Time)) func(*memory) Store {
		return func(m *memory) Store { return changing{m, change} }
	}
	return []mistake{
		{"receipts of reports are not looked for", receiptReport, reporting(func(m *memory, r *store.Receipt, _ time.Time) {
			delete(m.receipts, r.ID())
		})},
		{"another request gets the first answer", receiptConflict, reporting(func(m *memory, r *store.Receipt, _ time.Time) {
			if first, ok := m.receipts[r.ID()]; ok {
				r.Hash = first.Hash
			}
		})},
		{"receipts never expire", receiptExpired, reporting(func(m *memory, r *store.Receipt, now time.Time) {
			if first, ok := m.receipts[r.ID()]; ok {
				first.ExpiresAt = now.Add(day)
				m.receipts[r.ID()] = first
			}
		})},
		{"receipts expire too early", receiptExpired, reporting(func(m *memory, _ *store.Receipt, now time.Time) {
			for key, r := range m.receipts {
				if !now.Add(time.Microsecond).Before(r.ExpiresAt) {
					delete(m.receipts, key)
				}
			}
		})},
		{"receipts are distinguished by key alone", receiptScopes, reporting(func(_ *memory, r *store.Receipt, _ time.Time) { r.Scope = "" })},
		{"an answer is rendered anew", receiptReport, reporting(func(m *memory, r *store.Receipt, _ time.Time) {
			if first, ok := m.receipts[r.ID()]; ok {
				first.Answer = []byte("something else")
				m.receipts[r.ID()] = first
			}
		})},
		{"a promotion is made again", receiptPromotion, func(m *memory) Store { return repeater{m} }},
	}
}

// changing is a store that alters the receipts of reports before it looks at them.
type changing struct {
	*memory
	change func(m *memory, r *store.Receipt, now time.Time)
}

func (s changing) Report(ctx context.Context, now time.Time, reports []store.Report) ([]store.Outcome, error) {
	for i := range reports {
		if reports[i].Receipt == nil {
			continue
		}
		changed := *reports[i].Receipt
		s.change(s.memory, &changed, now)
		reports[i].Receipt = &changed
	}
	return s.memory.Report(ctx, now, reports)
}

// repeater promotes without looking for receipts.
type repeater struct{ *memory }

func (s repeater) Promote(ctx context.Context, p store.Promotion) (store.Promoted, []recoup.Error, error) {
	p.Receipt = nil
	return s.memory.Promote(ctx, p)
}
