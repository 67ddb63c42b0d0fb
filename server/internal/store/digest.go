package store

import (
	"encoding/json"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Digest is the body of a notice about many errors at once: how
// many, in which tables, and the first of them.
type Digest struct {
	Count  int            `json:"count"`
	Tables map[string]int `json:"tables"`
	Errors []recoup.ID    `json:"errors"`
}

// maxDigested is how many errors a digest names.
const maxDigested = 10

// digests reports whether notices of a kind are sent together where one act causes
// several to one recipient. The others ask for something about one error each.
func digests(k wire.NoticeKind) bool {
	return k == wire.NoticeUnblocked || k == wire.NoticeExpiring || k == wire.NoticeReviewMissed
}

// NoticeSet gathers the notices that one act causes. Several to one recipient become
// one digest, where the kind of notice allows it.
type NoticeSet struct {
	list []wire.Notice
	many map[int]*Digest // by place in the list
	at   map[lifecycle.Notice]int
}

// Add adds a notice about an error of a table.
func (s *NoticeSet) Add(n lifecycle.Notice, id recoup.ID, table string) {
	i, known := s.at[n]
	if !known || !digests(n.Kind) {
		s.append(n, id, table)
		return
	}
	d := s.many[i]
	d.Count++
	d.Tables[table]++
	if len(d.Errors) < maxDigested {
		d.Errors = append(d.Errors, id)
	}
}

func (s *NoticeSet) append(n lifecycle.Notice, id recoup.ID, table string) {
	if s.at == nil {
		s.at, s.many = map[lifecycle.Notice]int{}, map[int]*Digest{}
	}
	if digests(n.Kind) {
		s.at[n] = len(s.list)
		s.many[len(s.list)] = &Digest{Count: 1, Tables: map[string]int{table: 1}, Errors: []recoup.ID{id}}
	}
	s.list = append(s.list, wire.Notice{Kind: n.Kind, To: n.To, ErrorID: id})
}

// List returns the notices in the order in which the first of each was added.
func (s *NoticeSet) List() []wire.Notice {
	for i, d := range s.many {
		if body, err := json.Marshal(d); err == nil && d.Count > 1 {
			s.list[i].ErrorID, s.list[i].Body = recoup.ID{}, recoup.JSON(body)
		}
	}
	return s.list
}
