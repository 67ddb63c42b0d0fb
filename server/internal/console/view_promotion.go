package console

import (
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/admin"
)

// promotionPage is whether an entity may go on.
type promotionPage struct {
	Entity string // none: nothing was asked yet
	Gate   recoup.PromotionStatus
}

func viewPromotion(v *Request) (any, error) {
	p := promotionPage{Entity: strings.TrimSpace(v.r.URL.Query().Get("entity"))}
	if p.Entity == "" {
		return p, nil
	}
	var err error
	if p.Gate, err = v.client.CheckPromotion(v.ctx(), p.Entity); err != nil {
		return nil, err
	}
	if !p.Gate.Blocked {
		p.Gate.Unknown, err = admin.New(v.client).System.EntityUnknown(v.ctx(), p.Entity)
	}
	return p, err
}
