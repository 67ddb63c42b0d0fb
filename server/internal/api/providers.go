package api

import (
	"errors"
	"slices"
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/alert"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func (a *API) providers(c *httpapi.Call, _ *struct{}) (recoup.ProviderList, error) {
	rows, err := a.Store.Providers(c.Context())
	return recoup.ProviderList{Providers: httpapi.Each(a.Engine.Policies.Current().Providers, func(g policy.ProviderGroup) recoup.Provider {
		return providerOf(&g, rows)
	})}, err
}

// providerOf is a group as it is shown: with its members, and, if the policy has the
// provider that it was switched to, who did so.
func providerOf(g *policy.ProviderGroup, rows []recoup.Provider) recoup.Provider {
	active, row := alert.InUse(g, rows)
	out := recoup.Provider{Group: g.Name, Active: active}
	if row != nil && row.Active == active {
		out = *row
	}
	out.Members = g.Members
	return out
}

type switchIn struct {
	Group string `path:"group" doc:"a group of the policy"`
	Body  wire.ProviderSwitch
}

// switchProvider uses another provider. That it is in use already is as good.
func (a *API) switchProvider(c *httpapi.Call, in *switchIn) (recoup.Provider, error) {
	groups := a.Engine.Policies.Current().Providers
	i := slices.IndexFunc(groups, func(g policy.ProviderGroup) bool { return g.Name == in.Group })
	if i < 0 {
		return recoup.Provider{}, sqldb.ErrNotFound
	}
	group := &groups[i]
	if err := checkSwitch(group, in.Body); err != nil {
		return recoup.Provider{}, err
	}
	rows, err := a.Store.Providers(c.Context())
	if err != nil {
		return recoup.Provider{}, err
	}
	active, row := alert.InUse(group, rows)
	if active == in.Body.To {
		return providerOf(group, rows), nil
	}
	change := store.Switch{Group: group.Name, To: in.Body.To}
	if row != nil {
		change.From = row.Active
	}
	done, err := a.Store.SwitchProvider(c.Context(), change, c.Act(in.Body.Reason))
	if errors.Is(err, store.ErrConflict) {
		return recoup.Provider{}, fault.Wrap(err, fault.CodeConflict, "Somebody else has switched it meanwhile; look again.")
	}
	return providerOf(group, []recoup.Provider{done}), err
}

// checkProvider is [checkSwitch] of a request that is refused anyway. Of a group that
// does not exist nothing is said: the operation does.
func (a *API) checkProvider(_ *httpapi.Call, in *switchIn) error {
	groups := a.Engine.Policies.Current().Providers
	i := slices.IndexFunc(groups, func(g policy.ProviderGroup) bool { return g.Name == in.Group })
	if i < 0 {
		return nil
	}
	return checkSwitch(&groups[i], in.Body)
}

func checkSwitch(g *policy.ProviderGroup, s wire.ProviderSwitch) error {
	var bad fault.FieldErrors
	if !slices.Contains(g.Members, s.To) {
		bad.Addf("to", "known", "to must be a member of the group: %s", strings.Join(g.Members, ", "))
	}
	if strings.TrimSpace(s.Reason) == "" {
		bad.Addf("reason", "required", "reason is required")
	}
	bad.Merge(check.Reason(s.Reason))
	return bad.Err()
}
