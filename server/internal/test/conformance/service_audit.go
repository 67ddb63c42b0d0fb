package conformance

import (
	"fmt"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func auditClauses() []serviceClause {
	return []serviceClause{
		{"an act is kept as it was recorded", auditKept},
		{"acts are listed newest first by who, what, to what and when, page by page", auditList},
	}
}

func auditKept(d *serviceDriver) {
	entries := []wire.AuditEntry{
		{At: d.now, Actor: "ada", Act: "export.events", Target: "billing", Reason: "asked by legal", Details: `{"rows": 12,  "ünï": [1.0, null]}`},
		{At: d.now.Add(time.Second), Actor: "system", Act: "x"},
	}
	d.must(d.store.AppendAudit(d.Context(), entries...))
	d.must(d.store.AppendAudit(d.Context()))
	got := d.acts()
	for i := range got {
		if got[i].Seq <= 0 || i > 0 && got[i].Seq <= got[i-1].Seq {
			d.Errorf("act %d has the number %d", i, got[i].Seq)
		}
		got[i].Seq = 0
	}
	wantSame(d, got, entries)

	d.wantErr(d.store.AppendAudit(d.Context(), entries[0], wire.AuditEntry{At: d.now, Actor: "ada", Act: "x", Details: "{"}), recoup.ErrBadJSON)
	d.wantErr(d.store.AppendAudit(d.Context(), entries[0], wire.AuditEntry{At: d.now, Act: "by nobody"}), store.ErrRefused)
	if n := len(d.acts()); n != 2 {
		d.Errorf("what failed has left %d acts", n-2)
	}
}

func auditList(d *serviceDriver) {
	var all []wire.AuditEntry
	for i := range 24 {
		all = append(all, wire.AuditEntry{At: d.now.Add(time.Duration(i/3) * time.Minute), Actor: []string{"ada", "bob"}[i%2],
			Act: []string{"a", "b", "c"}[i%3], Target: []string{"", "t1", "t2", "t3"}[i%4]})
	}
	d.must(d.store.AppendAudit(d.Context(), all...))
	all = d.acts()
	slices.Reverse(all)
	at := d.now.Add(3 * time.Minute)
	for _, f := range []wire.AuditFilter{
		{}, {Actor: "ada"}, {Act: "b"}, {Target: "t2"}, {Target: "none"}, {From: at}, {To: at}, {From: at, To: at.Add(time.Minute)},
		{Actor: "bob", Act: "a"}, {Actor: "bob", Target: "t1", From: at}, {Act: "c", Target: "t3", To: at}, {Actor: "ada", Act: "a", Target: "t2"},
	} {
		var want []wire.AuditEntry
		for _, e := range all {
			if (f.Actor == "" || f.Actor == e.Actor) && (f.Act == "" || f.Act == e.Act) && (f.Target == "" || f.Target == e.Target) &&
				!e.At.Before(f.From) && (f.To.IsZero() || e.At.Before(f.To)) {
				want = append(want, e)
			}
		}
		for _, size := range []int{1, 5, 100} {
			got := walked(d, func(after store.AuditCursor) ([]wire.AuditEntry, store.AuditCursor, error) {
				return d.store.Audit(d.Context(), f, after, size)
			}, store.AuditCursor.IsZero)
			if fmt.Sprint(got) != fmt.Sprint(want) {
				d.Errorf("%+v in pages of %d: %d acts, want %d in order", f, size, len(got), len(want))
			}
		}
	}
}
