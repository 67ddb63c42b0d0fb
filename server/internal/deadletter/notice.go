package deadletter

import (
	"encoding/json"
	"fmt"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// notices returns the notification that a replay has stopped itself, for the commit in
// which it did. It stops at most once in a phase, so the key drops a second one.
func (s *Service) notices(was *store.ReplayStatus, is *recoup.Replay) []wire.Notice {
	if was.State != recoup.ReplayRunning || is.State != recoup.ReplayPaused {
		return nil
	}
	t := count(was)
	body, err := json.Marshal(store.ReplayStop{ReplayID: is.ID, Why: is.Why, Members: is.Members, Left: t.pending + t.out})
	if err != nil {
		panic("deadletter: a notice is not JSON: " + err.Error())
	}
	return []wire.Notice{{
		Kind: wire.NoticeReplayStopped, To: s.team(is.Hub),
		Key: fmt.Sprintf("replay:%s:%d", is.ID, is.Phase), Body: recoup.JSON(body),
	}}
}

// team is who looks after a replay: the team of its hub, and of one that concerns
// several the team of the hub that has the dead letters.
func (s *Service) team(hub string) string {
	p := s.Policies.Current()
	for _, h := range p.Hubs {
		if h.ID == hub {
			return h.Team
		}
	}
	if t, err := s.table(""); err == nil {
		return t.Owner(1)
	}
	return p.PlatformHub.Team
}
