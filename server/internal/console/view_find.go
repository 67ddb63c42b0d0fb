package console

import (
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// findPage is all that has a part of an id.
type findPage struct {
	Text   string
	Found  []foundThing
	Entity string // the list of an entity that is called so
}

// foundThing is a thing that was found by a part of its id, and where its page is.
type foundThing struct {
	wire.FoundID
	Kind, Href string
}

// coreFinders are the kinds of things that have pages. A dead letter is an error too; its own
// page comes first.
func coreFinders() []Finder {
	return []Finder{
		{recoup.DeadLetterIDs, "dead letter", "dead-letters/"},
		{recoup.ErrorIDs, "error", "errors/"},
		{recoup.DeadLetterGroupIDs, "group of dead letters", "dead-letters/groups/"},
		{recoup.ReplayIDs, "replay", "replays/"},
		{recoup.OperationIDs, "operation", "operations/"},
		{recoup.AlertIDs, "alert", "alerts/"},
	}
}

// find leads from what somebody has in their hands to its page: an id or a part of one, a
// code, an entity. Where an id could be several things' it lists them.
func find(v *Request) (any, error) {
	text := strings.TrimSpace(v.r.URL.Query().Get("q"))
	key := "entity"
	if _, err := recoup.ParseCode(text); err == nil {
		key = "code"
	}
	p := findPage{Text: text, Entity: Address("errors", map[string][]string{key: {text}})}
	var err error
	if p.Found, err = byID(v, text); err != nil {
		return nil, err
	}
	switch len(p.Found) {
	case 0:
		v.goTo(p.Entity)
	case 1:
		v.goTo(p.Found[0].Href)
	default:
		return p, nil
	}
	return nil, nil
}

// byID finds what has an id, whole or in part, among what the visitor may see.
func byID(v *Request, text string) ([]foundThing, error) {
	text = strings.TrimPrefix(text, "…")
	if id, err := recoup.ParseID(text); err == nil {
		text = id.String() // it may have been written as a ULID
	}
	part, err := recoup.ParseIDPart(text)
	if err != nil {
		return nil, nil //nolint:nilerr // it is no id, and may be something else
	}
	var list []foundThing
	seen := map[recoup.ID]bool{}
	for _, k := range v.console.finders() {
		found, err := admin.New(v.client).System.FindIDs(v.ctx(), k.Kind, string(part))
		if permitted(err) != nil {
			return nil, err
		}
		for _, f := range found.IDs {
			if !seen[f.ID] {
				seen[f.ID] = true
				list = append(list, foundThing{f, k.Name, k.Path + f.ID.String()})
			}
		}
	}
	return list, nil
}
