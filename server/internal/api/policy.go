package api

import (
	"cmp"
	"strconv"
	"time"

	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func (a *API) showPolicy(*httpapi.Call, *struct{}) (wire.Policy, error) {
	p := a.Engine.Policies.Current()
	return wire.Policy{Version: p.Version, Text: p.Text()}, nil
}

func (a *API) policyVersions(c *httpapi.Call, in *httpapi.Page) (wire.PolicyVersionPage, error) {
	before, err := strconv.ParseInt(cmp.Or(in.Cursor, "0"), 10, 64)
	if err != nil || before < 0 {
		return wire.PolicyVersionPage{}, httpapi.BadCursor()
	}
	versions, next, err := a.Store.PolicyVersions(c.Context(), before, cmp.Or(in.Limit, 100))
	out := wire.PolicyVersionPage{Versions: httpapi.Listed(versions)}
	if next > 0 {
		out.Next = strconv.FormatInt(next, 10)
	}
	return out, err
}

type planIn struct{ Body wire.PolicyFile }

func (a *API) planPolicy(c *httpapi.Call, in *planIn) (engine.Plan, error) {
	return a.Registrar.PlanPolicy(c.Context(), c.Caller, []byte(in.Body.Text))
}

type putPolicyIn struct{ Body wire.PolicyChange }

type appliedOut struct {
	Version string               `json:"version" doc:"as the file names itself"`
	Number  int64                `json:"number" doc:"which version it is, from 1"`
	At      time.Time            `json:"at" doc:"since when it is in force"`
	By      string               `json:"by" doc:"who put it in force"`
	Added   bool                 `json:"added" doc:"false: it was in force already"`
	Rebased *engine.RebaseResult `json:"rebased,omitempty" doc:"of open errors: what the rebase changed"`
}

func (a *API) putPolicy(c *httpapi.Call, in *putPolicyIn) (appliedOut, error) {
	done, err := a.Registrar.ApplyPolicy(c.Context(), c.Caller, []byte(in.Body.Text), in.Body.Rebase, in.Body.Reason)
	v := done.Version
	if err != nil && done.Rebased != nil {
		return appliedOut{}, cutShort(err, map[string]any{"version": v.Version, "added": done.Added, "rebased": done.Rebased})
	}
	return appliedOut{Version: v.Version, Number: v.Number, At: v.At, By: v.By, Added: done.Added, Rebased: done.Rebased}, err
}
