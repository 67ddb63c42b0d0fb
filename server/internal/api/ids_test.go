package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// found asks what a part of an id may mean.
func (w *world) found(key string, kind recoup.IDKind, part string) (all wire.FoundIDs) {
	w.Helper()
	w.do(key, http.MethodGet, fmt.Sprintf("/v1/ids/%s?kind=%s", part, kind), nil).ok(&all)
	return all
}

// TestFindIDs proves that things are found by the beginning or the end of their id, open
// or archived, at most ten at once, and that a key for one hub finds nothing of another.
func TestFindIDs(t *testing.T) {
	t.Parallel()
	worlds(t, func(w *world) {
		w.withPipelines()
		mine, theirs := w.report(dol, w.entity()), w.report(people, w.entity())
		archived := w.act(w.report(dol, w.entity()), "archive", recoup.Act{Reason: "known"})
		letter := w.letterIn(people, recoup.StepNew)
		for _, row := range []struct {
			key   string
			kind  recoup.IDKind
			id    recoup.ID
			found bool
		}{
			{"reader", recoup.ErrorIDs, mine.ID, true}, {"reader", recoup.ErrorIDs, theirs.ID, true}, {"reader", recoup.ErrorIDs, archived.ID, true},
			{"reader" + onlyDOL, recoup.ErrorIDs, mine.ID, true}, {"reader" + onlyDOL, recoup.ErrorIDs, archived.ID, true},
			{"reader" + onlyDOL, recoup.ErrorIDs, theirs.ID, false}, {"reader" + onlyDOL, recoup.ErrorIDs, letter.ErrorID, false},
			{"reader", recoup.DeadLetterIDs, letter.ErrorID, true}, {"reader", recoup.DeadLetterGroupIDs, letter.GroupID, true},
			{"reader" + onlyDOL, recoup.DeadLetterIDs, letter.ErrorID, false}, {"reader" + onlyDOL, recoup.DeadLetterGroupIDs, letter.GroupID, false},
			{"reader", recoup.ReplayIDs, mine.ID, false},
		} {
			whole := strings.ReplaceAll(row.id.String(), "-", "")
			for _, part := range []string{whole[26:], strings.ToUpper(whole[20:]), whole[:31], row.id.String()} {
				got := w.found(row.key, row.kind, part)
				is := slices.ContainsFunc(got.IDs, func(f wire.FoundID) bool { return f.ID == row.id && !f.At.IsZero() })
				if is != row.found || !row.found && len(got.IDs) > 0 || got.More {
					t.Errorf("%s looks for %s by %s: %+v, want it: %v", row.key, row.kind, part, got, row.found)
				}
			}
		}
		if got := w.found("reader", recoup.ErrorIDs, mine.ID.String()[9:19]); len(got.IDs) > 0 {
			t.Errorf("found by its middle: %+v", got)
		}
		if got := w.found("reader", recoup.ErrorIDs, mine.ID.String()); got.IDs[0].Of != dol || got.IDs[0].What != string(mine.Code) {
			t.Errorf("shown as %+v", got.IDs[0])
		}
		for range 12 {
			w.report(dol, w.entity())
		}
		if got := w.found("reader", recoup.ErrorIDs, mine.ID.String()[:6]); len(got.IDs) != 10 || !got.More {
			t.Errorf("by a beginning that many have: %d, more: %v", len(got.IDs), got.More)
		}
		w.get("/v1/ids/abcde?kind=errors").invalid("part", "format")
		w.get("/v1/ids/abcdefg?kind=errors").invalid("part", "format")
		w.get("/v1/ids/abcdef?kind=secrets").invalid("kind", "enum")
	})
}

// TestIDsAreFoundByThoseWhoListThem proves that nobody finds what they may not list.
func TestIDsAreFoundByThoseWhoListThem(t *testing.T) {
	t.Parallel()
	lists := map[recoup.IDKind]string{
		recoup.ErrorIDs: "/v1/errors", recoup.DeadLetterIDs: "/v1/dead-letters", recoup.DeadLetterGroupIDs: "/v1/dead-letter-groups",
		recoup.ReplayIDs: "/v1/replays", recoup.IntakeIDs: "/v1/gate-zero/intakes", recoup.AlertIDs: "/v1/alerts",
		recoup.SilenceIDs: "/v1/silences", recoup.NoticeIDs: "/v1/notices", recoup.KeyIDs: "/v1/keys",
	}
	w := newWorld(t)
	for _, role := range httpapi.Roles() {
		for _, hubs := range []string{"", onlyDOL} {
			for kind, list := range lists {
				key := string(role) + hubs
				find := w.do(key, http.MethodGet, "/v1/ids/abcdef?kind="+string(kind), nil)
				if listed := w.do(key, http.MethodGet, list, nil); find.Code != listed.Code {
					t.Errorf("%s: finding %s is answered %d, listing them %d", key, kind, find.Code, listed.Code)
				}
			}
		}
	}
	w.do("reader", http.MethodGet, "/v1/ids/abcdef?kind=keys", nil).failed(http.StatusForbidden, fault.CodeInsufficientPermissions)
}
