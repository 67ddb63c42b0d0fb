package console

import (
	"errors"
	"html/template"
	"net/url"
	"sync"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// adminPage is what the platform itself is made of, and how it does.
type adminPage struct {
	Leader    string
	Jobs      []wire.Job
	Providers []recoup.Provider
	Receivers []wire.Receiver
	Channels  []wire.Channel
	Adoptions []wire.Adoption
	Panels    []template.HTML // of other sections
	Keys      []wire.Key
	Notices   []wire.Notice // given up
	MayRun    bool
	MayDoctor bool
}

// Troubles is which jobs are not well, in words; empty: all are.
func (p adminPage) Troubles() string {
	var late int64
	for i := range p.Jobs {
		if p.Jobs[i].Late || p.Jobs[i].Error != "" {
			late++
		}
	}
	if late == 0 {
		return ""
	}
	return plural(late, "job") + " late or failing"
}

func viewAdmin(v *Request) (any, error) {
	p := adminPage{MayRun: v.who.May("admin"), MayDoctor: v.who.May("operator", "admin") && len(v.who.Hubs) == 0}
	var panels []panelView
	parts := []func() error{
		func() error {
			found, err := admin.New(v.client).Jobs.List(v.ctx())
			p.Leader, p.Jobs = found.Leader, found.Jobs
			return err
		},
		func() (err error) { p.Providers, err = v.client.Providers.List(v.ctx()); return err },
		func() error {
			found, err := admin.New(v.client).Notifications.Receivers(v.ctx())
			p.Receivers = found.Receivers
			return err
		},
		func() error {
			found, err := admin.New(v.client).Notifications.Channels(v.ctx())
			p.Channels = found.Channels
			return err
		},
		func() error {
			found, err := admin.New(v.client).AdoptedTables.List(v.ctx())
			p.Adoptions = found.Adoptions
			return err
		},
		func() (err error) { panels, err = v.viewPanels("admin"); return err },
		func() error {
			page, err := admin.New(v.client).Keys.List(v.ctx(), client.Page{Limit: 100})
			p.Keys = page.Keys
			return err
		},
		func() error {
			page, err := admin.New(v.client).Notifications.List(v.ctx(), wire.NoticeFilter{State: wire.NoticeGivenUp}, client.Page{Limit: 20})
			p.Notices = page.Notices
			return err
		},
	}
	failed := make([]error, len(parts))
	var all sync.WaitGroup
	for i, part := range parts {
		all.Go(func() { failed[i] = v.optional(part()) })
	}
	all.Wait()
	p.Panels = v.showPanels(panels)
	return p, errors.Join(failed...)
}

// viewDoctor is what the doctor finds. It looks at everything, so the page of the platform
// fetches it when the rest is there.
func viewDoctor(v *Request) (any, error) { return admin.New(v.client).System.Doctor(v.ctx()) }

// runJob runs a scheduled job now.
func runJob(v *Request) (any, error) {
	if _, err := admin.New(v.client).Jobs.Run(v.ctx(), v.r.PathValue("job"), wire.JobRunRequest{Reason: v.text("reason")}); err != nil {
		return nil, err
	}
	v.goDone("admin", "job", 1)
	return nil, nil
}

// switchProvider uses another member of a group from now on.
func switchProvider(v *Request) (any, error) {
	s := wire.ProviderSwitch{To: v.text("to"), Reason: v.text("reason")}
	if _, err := admin.New(v.client).Providers.Switch(v.ctx(), v.r.PathValue("group"), s); err != nil {
		return nil, err
	}
	v.goDone("admin", "provider", 1)
	return nil, nil
}

// resendNotices sends what was given up once more.
func resendNotices(v *Request) (any, error) {
	list, err := ids(v.r.PostForm["id"])
	if err != nil {
		return nil, err
	}
	sent, err := admin.New(v.client).Notifications.Resend(v.ctx(), wire.NoticeResend{IDs: list, Reason: v.text("reason")})
	if err != nil {
		return nil, err
	}
	v.goDone("admin", "resend", sent.Resent)
	return nil, nil
}

// auditPage is who did what.
type auditPage struct {
	Entries []wire.AuditEntry
	Actor   string
	Act     string
	Next    string
}

func viewAudit(v *Request) (any, error) {
	q := v.r.URL.Query()
	p := auditPage{Actor: q.Get("actor"), Act: q.Get("act")}
	page, err := admin.New(v.client).Audit.List(v.ctx(), wire.AuditFilter{Actor: p.Actor, Act: p.Act}, client.Page{Cursor: q.Get("cursor"), Limit: pageRows})
	if err != nil {
		return nil, err
	}
	p.Entries = page.Entries
	if page.Next != "" {
		next := url.Values{"cursor": {page.Next}}
		for key, value := range map[string]string{"actor": p.Actor, "act": p.Act} {
			if value != "" {
				next.Set(key, value)
			}
		}
		p.Next = Address("audit", next)
	}
	return p, nil
}
