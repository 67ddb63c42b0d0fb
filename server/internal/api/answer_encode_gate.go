package api

import (
	"github.com/recoup-dev/recoup"
)

func (w *writer) gate(g *recoup.PromotionStatus) {
	w.b = append(w.b, '{')
	w.text(`"entity_id":`, g.EntityID)
	w.flag(`"blocked":`, g.Blocked)
	if len(g.Blockers) > 0 {
		w.list(`"blockers":`, len(g.Blockers), func(i int) { w.blocker(&g.Blockers[i]) })
	}
	w.flagOr(`"more":`, g.More)
	w.timeOr(`"opens_at":`, g.OpensAt)
	w.flagOr(`"unknown":`, g.Unknown)
	w.b = append(w.b, '}')
}

func (w *writer) blocker(b *recoup.Blocker) {
	w.idOr(`"error_id":`, b.ErrorID)
	w.flagOr(`"unread":`, b.Unread)
	w.flagOr(`"dead_letter":`, b.DeadLetter)
	w.text(`"table":`, b.Table)
	w.textOr(`"code":`, string(b.Code))
	w.textOr(`"state":`, string(b.State))
	w.text(`"owner":`, b.Owner)
	w.time(`"since":`, b.Since)
	w.timeOr(`"next_retry_at":`, b.NextRetryAt)
	w.timeOr(`"ends_at":`, b.EndsAt)
}
