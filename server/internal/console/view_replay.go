package console

import (
	"math"
	"net/url"
	"slices"
	"strconv"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// replayPage is a replay: how far it has come, by which ramp, and what became of each of its
// members.
type replayPage struct {
	recoup.ReplayDetails
	Ramp   []rampStage
	Acts   []steering
	Items  []recoup.ReplayItem
	Item   string // the state that the items are narrowed to
	States []itemState
	First  string
	More   string
}

// rampStage is a stage of the ramp as it is drawn.
type rampStage struct {
	Name, Size string
	Class      string // of the state of the replay, if it is here
	Lit, Been  bool
	X          int
}

// itemState is how many items are in a state, and where they are listed.
type itemState struct {
	State recoup.ItemState
	N     int64
	Href  string
}

// steering is an act on what is under way: a replay, or an operation.
type steering struct {
	Name, Label, About string
	Refused            string
}

func viewReplay(v *Request) (any, error) {
	id, err := v.pathID("a replay")
	if err != nil {
		return nil, err
	}
	q, at := v.r.URL.Query(), "replays/"+id.String()
	p := &replayPage{Item: q.Get("item")}
	if p.ReplayDetails, err = v.client.Replays.Get(v.ctx(), id); err != nil {
		return nil, err
	}
	from, err := strconv.Atoi(q.Get("from"))
	if err != nil && q.Has("from") || from < 0 {
		return nil, fault.New(fault.CodeValidationError, "The address is of no page of items: from is a position.")
	}
	items, err := v.client.Replays.Items(v.ctx(), id, p.Item, from, pageRows)
	if err != nil {
		return nil, err
	}
	p.Items, p.Ramp, p.Acts, p.States = items.Items, ramp(&p.Replay), replayActs(p.State, v.who), itemStates(at, p.Counts)
	here := url.Values{}
	if p.Item != "" {
		here.Set("item", p.Item)
	}
	if from > 0 {
		p.First = Address(at, here)
	}
	if items.Next > 0 {
		here.Set("from", strconv.Itoa(items.Next))
		p.More = Address(at, here)
	}
	return p, nil
}

// ramp draws the stages, with the present one lit. A replay without a canary has but one.
func ramp(r *recoup.Replay) []rampStage {
	share := min(int64(math.Ceil(r.Plan.Share*float64(r.Members))), int64(r.Members))
	stages := []rampStage{
		{Name: "canary", Size: "Canary: " + count(int64(min(r.Plan.Canary, r.Members)))},
		{Name: "share", Size: "Share: " + count(share) + " (" + percent(r.Plan.Share) + ")"},
		{Name: "rest", Size: "The rest"},
	}
	if r.Plan.Canary == 0 {
		stages = []rampStage{{Name: "rest", Size: "All: " + count(int64(r.Members))}}
	}
	at := slices.IndexFunc(stages, func(s rampStage) bool { return s.Name == r.Step })
	for i := range stages {
		s := &stages[i]
		s.X, s.Class = 20+i*210, replayBadge(r.State).Class
		s.Lit, s.Been = i == at && !r.State.Over(), i < at || i == at && r.State.Over()
	}
	return stages
}

// itemStates are the states that items are in, with how many.
func itemStates(at string, c recoup.ItemCounts) []itemState {
	var list []itemState
	for _, s := range []struct {
		state recoup.ItemState
		n     int64
	}{
		{recoup.ItemPending, c.Pending}, {recoup.ItemReleased, c.Released}, {recoup.ItemSucceeded, c.Succeeded}, {recoup.ItemFailed, c.Failed},
		{recoup.ItemRepeated, c.Repeated}, {recoup.ItemCancelled, c.Cancelled}, {recoup.ItemArchived, c.Archived},
	} {
		if s.n > 0 {
			list = append(list, itemState{s.state, s.n, Address(at, url.Values{"item": {string(s.state)}})})
		}
	}
	return list
}

// replayActs are all acts on a replay; those that its state and the visitor's role allow can
// be done.
func replayActs(s recoup.ReplayState, by who) []steering {
	list := []steering{
		{Name: "pause", Label: "Pause", About: "Nothing more is released; what workers have claimed goes on."},
		{Name: "resume", Label: "Resume", About: "It goes on where it stood; if it has stopped itself, the ramp begins again with its canary."},
		{Name: "cancel", Label: "Cancel", About: "It ends: what no worker has claimed is as it was before. A cancelled replay cannot be resumed."},
	}
	can := map[string]bool{"pause": s == recoup.ReplayRunning, "resume": s == recoup.ReplayPaused, "cancel": !s.Over() && s != recoup.ReplayCancelling}
	return permit(list, by, can, "Not while the replay is "+lower(replayBadge(s).Word)+".")
}

// permit says of each act why it cannot be done, if it cannot: because of the visitor's role, or
// of the state that things are in.
func permit(list []steering, by who, can map[string]bool, otherwise string) []steering {
	for i := range list {
		if list[i].Refused = by.Refused(); list[i].Refused == "" && !can[list[i].Name] {
			list[i].Refused = otherwise
		}
	}
	return list
}

// actOnReplay pauses, resumes or cancels a replay, and shows it again.
func actOnReplay(v *Request) (any, error) {
	id, err := v.pathID("a replay")
	if err != nil {
		return nil, err
	}
	name, reason := v.r.PathValue("verb"), v.text("reason")
	switch name {
	case "pause":
		_, err = v.client.Replays.Pause(v.ctx(), id, reason)
	case "resume":
		_, err = v.client.Replays.Resume(v.ctx(), id, reason)
	case "cancel":
		_, err = v.client.Replays.Cancel(v.ctx(), id, reason)
	default:
		err = fault.New(fault.CodeNotFound, "A replay can be paused, resumed or cancelled, and nothing else.")
	}
	if err != nil {
		return nil, err
	}
	v.goDone("replays/"+id.String(), name, 1)
	return nil, nil
}
