package console

import (
	"strings"

	"recoup"
)

// promotionPage is whether an entity may go on.
type promotionPage struct {
	Entity string // none: nothing was asked yet
	Gate   recoup.Gate
}

func viewPromotion(v *visit) (any, error) {
	p := promotionPage{Entity: strings.TrimSpace(v.r.URL.Query().Get("entity"))}
	if p.Entity == "" {
		return p, nil
	}
	var err error
	if p.Gate, err = v.client.Gate(v.ctx(), p.Entity); err != nil {
		return nil, err
	}
	if !p.Gate.Blocked {
		p.Gate.Unknown, err = v.client.UnknownEntity(v.ctx(), p.Entity)
	}
	return p, err
}

// find leads from what somebody has in their hands to its page: an id or the end of one, a
// code, an entity.
func find(v *visit) (any, error) {
	text := strings.TrimSpace(v.r.URL.Query().Get("q"))
	if id, err := recoup.ParseID(text); err == nil {
		v.goTo("errors/" + id.String())
		return nil, nil
	}
	part := strings.TrimPrefix(text, "…")
	if len(part) >= 6 && strings.Trim(part, "0123456789abcdef-") == "" {
		found, err := v.client.FindIDs(v.ctx(), recoup.ErrorIDs, part)
		if err == nil && len(found.IDs) == 1 {
			v.goTo("errors/" + found.IDs[0].ID.String())
			return nil, nil
		}
	}
	key := "entity"
	if _, err := recoup.ParseCode(text); err == nil {
		key = "code"
	}
	v.goTo(address("errors", map[string][]string{key: {text}}))
	return nil, nil
}
