package policy_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// small loads the small policy with more text at its end.
func small(t *testing.T, more string) *policy.Policy {
	t.Helper()
	p, err := policy.Load("small.yaml", append(read(t, "testdata/small.yaml"), more...), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestChannels(t *testing.T) {
	p := small(t, `
notifications:
  default: [{channel: chat, from: WARNING}]
  teams:
    sales-team: [{channel: chat, kinds: [PARKED]}, {channel: mail, kinds: [PARKED, ALERT]}, {channel: mail}]
    platform-team: [{channel: pager, from: PAGE}, {channel: chat}]
    sales-lead: [{channel: pager, kinds: [JOB_LATE]}]
`)
	rows := []struct {
		team    string
		kind    wire.NoticeKind
		urgency policy.Urgency
		want    string
	}{
		{"sales-team", "PARKED", policy.Info, "chat mail"},
		{"sales-team", "ALERT", policy.Page, "mail"},
		{"sales-team", "EXPIRING", policy.Warning, "mail"},
		{"platform-team", "PAGE", policy.Page, "pager chat"},
		{"platform-team", "ALERT_RESOLVED", policy.Page, "pager chat"},
		{"platform-team", "ALERT", policy.Warning, "chat"},
		{"platform-team", "PARKED", policy.Info, "chat"},
		{"sales-lead", "JOB_RECOVERED", policy.Page, "pager"}, // whoever heard of the beginning
		{"sales-lead", "PAGE", policy.Page, "log"},            // nobody takes it: it is not lost
		{"platform-lead", "ESCALATED", policy.Warning, "chat"},
		{"platform-lead", "PARKED", policy.Info, "log"},
		{"somebody-gone", "PAGE", policy.Page, "chat"},
	}
	for _, row := range rows {
		if got := strings.Join(p.Notifications.Channels(row.team, row.kind, row.urgency), " "); got != row.want {
			t.Errorf("%s hears of %s %s by %q, want %q", row.team, row.urgency, row.kind, got, row.want)
		}
	}
	if got, want := p.Notifications.Named(), []string{"chat", "mail", "pager"}; !slices.Equal(got, want) {
		t.Errorf("channels are %v, want %v", got, want)
	}
}

// TestQuietDefaults wants a policy that says nothing of notifications, as older
// ones do, to be loaded and to be quiet.
func TestQuietDefaults(t *testing.T) {
	for name, p := range map[string]*policy.Policy{"small": small(t, ""), "default": policy.Default()} {
		n := p.Notifications
		if len(n.Teams) != 0 || len(n.Digests) != 1 || n.Digests[wire.NoticeParked] != 15*time.Minute || p.Repeat != 4*time.Hour {
			t.Errorf("%s: notifications are %+v, repeated after %v", name, n, p.Repeat)
		}
		for _, kind := range wire.NoticeKinds() {
			if got := n.Channels("platform-team", kind, policy.UrgencyOf(kind)); !slices.Equal(got, []string{policy.LogChannel}) {
				t.Errorf("%s: %s goes to %v", name, kind, got)
			}
		}
	}
	if n := small(t, "notifications: {digests: {}}\n").Notifications; len(n.Digests) != 0 {
		t.Errorf("digests are %v in a policy that wants none", n.Digests)
	}
}

func TestRuleRepeats(t *testing.T) {
	text := strings.Replace(string(read(t, "testdata/small.yaml")), "per: platform,", "per: platform, repeat: 30m,", 1)
	text = strings.Replace(text, "min_samples: 20", "min_samples: 20\n  repeat: 2h", 1)
	p, err := policy.Load("f", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	if p.Repeat != 2*time.Hour || p.Alerts[0].Repeat != 2*time.Hour || p.Alerts[1].Repeat != 30*time.Minute {
		t.Errorf("repeated after %v, %v and %v", p.Repeat, p.Alerts[0].Repeat, p.Alerts[1].Repeat)
	}
}

func TestProviderGroups(t *testing.T) {
	p := small(t, "providers:\n  mail: [one, two]\n  sms: {members: [three]}\n")
	for i, want := range []string{"one two", "three"} {
		if g := p.Providers[i]; strings.Join(g.Members, " ") != want || g.BackAfter != 0 {
			t.Errorf("group %d is %+v", i, g)
		}
	}
}
