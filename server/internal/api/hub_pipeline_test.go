package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Staged work belongs to the hub of its pipeline: what lists, previews and replays show
// and touch with a key for one hub is that hub's, page by page, and what another hub has
// looks as if it were not there.
func TestPipelinesBelongToAHub(t *testing.T) {
	t.Parallel()
	worlds(t, func(w *world) {
		w.withPipelines()
		var mine, theirs []recoup.DeadLetter
		for range 3 {
			mine = append(mine, w.letterIn(dol, recoup.StepValidated))
			theirs = append(theirs, w.letterIn(people, recoup.StepValidated), w.letter(recoup.StepValidated)) // and the platform's
			w.wait(time.Second)
		}
		w.seesOnly(mine)
		w.selectsOnly(mine, theirs)
		w.replaysOnly(mine, theirs)
		w.pausesOnly(mine[0].Pipeline, theirs[0].Pipeline)
	})
}

// seesOnly walks the lists of a hub, a row at a time.
func (w *world) seesOnly(mine []recoup.DeadLetter) {
	w.Helper()
	var letters, groups []recoup.ID
	for next := ""; ; {
		var page recoup.DeadLetterPage
		w.do("reader"+onlyDOL, http.MethodGet, "/v1/dead-letters?limit=1&cursor="+next, nil).ok(&page)
		for _, d := range page.DeadLetters {
			letters = append(letters, d.ErrorID)
		}
		if next = page.Next; next == "" {
			break
		}
	}
	for next := ""; ; {
		var page recoup.DeadLetterGroupPage
		w.do("reader"+onlyDOL, http.MethodGet, "/v1/dead-letter-groups?limit=1&cursor="+next, nil).ok(&page)
		for _, g := range page.Groups {
			groups = append(groups, g.ID)
		}
		if next = page.Next; next == "" {
			break
		}
	}
	var want, wantGroups []recoup.ID
	for _, d := range slices.Backward(mine) {
		want, wantGroups = append(want, d.ErrorID), append(wantGroups, d.GroupID)
	}
	if !slices.Equal(letters, want) || !slices.Equal(groups, wantGroups) {
		w.Errorf("a key for one hub sees the dead letters %v and groups %v, want %v and %v", letters, groups, want, wantGroups)
	}
}

// selectsOnly previews by a filter, by ids and by a group.
func (w *world) selectsOnly(mine, theirs []recoup.DeadLetter) {
	w.Helper()
	key := "operator" + onlyDOL
	var p recoup.ReplayPreview
	w.do(key, http.MethodPost, "/v1/replays/preview", recoup.ReplaySelection{All: true}).ok(&p)
	if p.Eligible != len(mine) || len(p.NotEligible) > 0 {
		w.Errorf("a preview of all is %+v", p)
	}
	w.do(key, http.MethodPost, "/v1/replays/preview", recoup.ReplaySelection{IDs: []recoup.ID{mine[0].ErrorID, theirs[0].ErrorID, theirs[1].ErrorID}}).ok(&p)
	if p.Eligible != 1 || p.NotEligible["UNKNOWN"] != 2 {
		w.Errorf("a preview of ids is %+v", p)
	}
	p = recoup.ReplayPreview{}
	w.do(key, http.MethodPost, "/v1/replays/preview", recoup.ReplaySelection{GroupID: theirs[0].GroupID}).ok(&p)
	if p.Eligible != 0 || p.Token != "" || len(p.NotEligible) > 0 {
		w.Errorf("a preview of another hub's group is %+v", p)
	}
	got := w.do(key, http.MethodPost, "/v1/work", recoup.NewWorkBatch{Work: []recoup.NewWorkItem{{WorkID: theirs[0].WorkID, Pipeline: mine[0].Pipeline, Stage: "llm"}}})
	if text := got.Body.String(); !strings.Contains(text, "in another pipeline") || strings.Contains(text, theirs[0].ErrorID.String()) {
		w.Errorf("an id that another hub uses is answered with %s", text)
	}
}

// replaysOnly replays everything of a hub while others replay theirs.
func (w *world) replaysOnly(mine, theirs []recoup.DeadLetter) {
	w.Helper()
	key := "operator" + onlyDOL
	var all, own, of recoup.Replay
	w.do(key, http.MethodPost, "/v1/replays", w.shown(key, recoup.ReplaySelection{All: true})).ok(&own)
	if own.Members != len(mine) {
		w.Errorf("a replay of all that a hub has is of %d, want %d", own.Members, len(mine))
	}
	w.post("/v1/replays", w.shown("admin", recoup.ReplaySelection{All: true})).ok(&all)
	if all.Members != len(theirs) {
		w.Errorf("a replay of the rest is of %d, want %d", all.Members, len(theirs))
	}
	last := w.letterIn(dol, recoup.StepValidated)
	w.post("/v1/replays", recoup.NewReplay{ReplaySelection: recoup.ReplaySelection{IDs: []recoup.ID{last.ErrorID}}, Reason: "a try"}).ok(&of)
	var page recoup.ReplayPage
	w.do(key, http.MethodGet, "/v1/replays", nil).ok(&page)
	var ids []recoup.ID
	for _, r := range page.Replays {
		ids = append(ids, r.ID)
	}
	if !slices.Equal(ids, []recoup.ID{of.ID, own.ID}) {
		w.Errorf("a key for one hub sees the replays %v, want %v", ids, []recoup.ID{of.ID, own.ID})
	}
	w.do(key, http.MethodPost, "/v1/replays/"+all.ID.String()+"/cancel", recoup.ReplayAct{Reason: "a try"}).failed(http.StatusNotFound, fault.CodeNotFound)
}

// pausesOnly pauses work of a hub, of others, and of all.
func (w *world) pausesOnly(mine, theirs string) {
	w.Helper()
	key := "operator" + onlyDOL
	for _, b := range []recoup.NewPause{{PauseScope: recoup.PauseScope{Stage: "x"}}, {PauseScope: recoup.PauseScope{Class: "TIMEOUT"}}, {All: true}} {
		b.Reason = "a try"
		w.do(key, http.MethodPost, "/v1/pauses", b).invalid("pipeline", "required")
		b.Pipeline = theirs
		w.post("/v1/pauses", b).ok()
	}
	w.post("/v1/pauses", recoup.NewPause{All: true, Reason: "a try"}).ok()
	w.do(key, http.MethodPost, "/v1/pauses", recoup.NewPause{PauseScope: recoup.PauseScope{Pipeline: mine, Stage: "x"}, Reason: "a try"}).ok()
	w.do(key, http.MethodDelete, "/v1/pauses", nil).invalid("pipeline", "required")
	var list recoup.WorkPauses
	w.do("reader"+onlyDOL, http.MethodGet, "/v1/pauses", nil).ok(&list)
	if len(list.Pauses) != 1 || list.Pauses[0].Pipeline != mine {
		w.Errorf("a key for one hub sees the pauses %+v", list)
	}
}

// A key of the platform has what no hub lists, and a hub that lists nothing has nothing.
func TestPipelinesThatNoHubLists(t *testing.T) {
	t.Parallel()
	worlds(t, func(w *world) {
		w.withPipelines()
		var platform, empty, two wire.Key
		for hub, at := range map[string]*wire.Key{"platform": &platform, "company-target": &empty} {
			w.post("/v1/keys", wire.NewKey{Name: hub, Role: "operator", Hubs: []string{hub}, Days: 1}).ok(at)
		}
		w.post("/v1/keys", wire.NewKey{Name: "two", Role: "operator", Hubs: []string{dolHub, peopleHub}, Days: 1}).ok(&two)
		mine, theirs, free := w.letterIn(dol, recoup.StepValidated), w.letterIn(people, recoup.StepValidated), w.letter(recoup.StepValidated)
		for key, want := range map[string][]recoup.ID{
			w.use(platform): {free.ErrorID}, w.use(empty): nil, w.use(two): {theirs.ErrorID, mine.ErrorID},
		} {
			var page recoup.DeadLetterPage
			w.do(key, http.MethodGet, "/v1/dead-letters", nil).ok(&page)
			var got []recoup.ID
			for _, d := range page.DeadLetters {
				got = append(got, d.ErrorID)
			}
			slices.SortFunc(got, func(a, b recoup.ID) int { return strings.Compare(b.String(), a.String()) })
			if !slices.Equal(got, want) {
				w.Errorf("%s sees %v, want %v", key, got, want)
			}
		}
		w.do(w.use(two), http.MethodPost, "/v1/replays", w.shown(w.use(two), recoup.ReplaySelection{All: true})).invalid("pipeline", "hub")
		w.do(w.use(two), http.MethodPost, "/v1/replays", w.shown(w.use(two), recoup.ReplaySelection{Pipeline: theirs.Pipeline})).ok()
	})
}

// A policy in which two hubs list a pipeline is refused.
func TestPipelineOfTwoHubs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := strings.Replace(pipelinePolicy("1.0.1"), "pipelines: [people-0,", "pipelines: [filings-7,", 1)
	got := w.do("admin", http.MethodPut, "/v1/policy", wire.PolicyChange{Text: text, Reason: "a try"})
	if text := got.Body.String(); got.Code == http.StatusOK || !strings.Contains(text, "filings-7 belongs to the hub dol-filings already, expected it in one hub") {
		t.Errorf("answered with %d %s", got.Code, text)
	}
}

// A key for one hub may name a table of dead letters of that hub, or the one that those
// without their own have in common, and no other hub's.
func TestTableOfADeadLetter(t *testing.T) {
	t.Parallel()
	worlds(t, func(w *world) {
		text := pipelinePolicy("1.0.1")
		at := strings.Index(text, "  pipeline.dead_letters:\n")
		common := text[at : at+strings.Index(text[at:], "\n\n")+1]
		for table, hub := range map[string]string{"outreach.dead_letters": dolHub, "people.dead_letters": peopleHub} {
			own := strings.Replace(common, "pipeline.dead_letters:", table+":", 1)
			text = strings.Replace(text, common, common+strings.Replace(own, "hub: platform", "hub: "+hub, 1), 1)
		}
		w.do("admin", http.MethodPut, "/v1/policy", wire.PolicyChange{Text: text, Reason: "tables"}).ok()
		for table, kept := range map[string]string{
			"": "outreach.dead_letters", "outreach.dead_letters": "outreach.dead_letters", "pipeline.dead_letters": "pipeline.dead_letters", "people.dead_letters": "",
		} {
			failure := w.breakdown(w.pipeline(dol))
			failure.Table = table
			answer := w.do("ingest"+onlyDOL, http.MethodPost, "/v1/dead-letters", failure)
			if kept == "" {
				answer.failed(http.StatusForbidden, fault.CodeInsufficientPermissions)
				continue
			}
			var d recoup.DeadLetter
			answer.ok(&d)
			var e recoup.Error
			if w.get("/v1/errors/" + d.ErrorID.String()).ok(&e); e.Table != kept {
				w.Errorf("named %q, it is kept in %s, want %s", table, e.Table, kept)
			}
		}
	})
}
