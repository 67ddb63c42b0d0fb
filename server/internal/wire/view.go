package wire

import (
	"time"

	"github.com/recoup-dev/recoup"
)

// View is a list of errors that people come back to: a filter under a name. It belongs to
// a key and the keys that it is rotated to, which alone see it, or to a hub, whose people
// share it. Another key of the same name does not see it.
type View struct {
	ID        recoup.ID `json:"view_id" doc:"names the view"`
	Name      string    `json:"name" doc:"what people call it; of one owner or hub no two have the same"`
	Tokens    []string  `json:"tokens" doc:"the filter, such as state:PARKED or older:2d"`
	Owner     string    `json:"owner,omitempty" doc:"name of the key that alone sees it, before and after rotations; none: it is shared within the hub"`
	OwnerKey  recoup.ID `json:"-"` // the first key of that key's rotations; zero: the hub's, or of a server without keys
	Hub       string    `json:"hub,omitempty" doc:"whose people share it; none: it is its owner's"`
	CreatedAt time.Time `json:"created_at" doc:"when it was saved first"`
	ChangedAt time.Time `json:"changed_at" doc:"when it was saved last"`
	ChangedBy string    `json:"changed_by" doc:"who saved it last"`
}

// MaxViews is how many views an owner, or a hub, has at most.
const MaxViews = 100

// ViewPage is a page of views, newest first.
type ViewPage struct {
	Views []View `json:"views" doc:"this page of the list"`
	Next  string `json:"next,omitempty" doc:"the cursor of the next page; none: this is the last"`
}

// NewView is a view as it is to be.
type NewView struct {
	Name   string   `json:"name" maxLength:"100" doc:"what people call it; of one owner or hub no two have the same"`
	Tokens []string `json:"tokens,omitempty" maxItems:"20" doc:"the filter: state:, table:, hub:, code:, entity:, owner:, tier:, parked:, blocking:, older:, newer:, group: and text:, each once at most"`
	Hub    string   `json:"hub,omitempty" maxLength:"200" doc:"whose people share it; none: it is yours alone"`
}
