package endtoend

import (
	"fmt"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
)

// TestConsoleKillSwitch proves that a batch of Gate Zero is stopped and released by its page.
func TestConsoleKillSwitch(t *testing.T) {
	tier.Only(t, tier.Browser)
	live.Either(t, func(t *testing.T, d database) {
		s, c, b := console(t, d)
		if _, err := c.GateZero.CreateBatch(t.Context(), "spring 1/2"); err != nil {
			t.Fatal(err)
		}
		if _, err := c.GateZero.CreateIntake(t.Context(), "spring 1/2", recoup.NewIntake{CompanyName: "Acme", Domain: "example.com"}); err != nil {
			t.Fatal(err)
		}
		b.signIn(s.key())
		b.open("gate-zero")
		b.click("tr[data-row] a.strong")
		for _, act := range []struct {
			name, done string
			killed     bool
		}{{"kill", "The batch is stopped.", true}, {"release", "The batch is released.", false}} {
			b.click(".acts button[popovertarget=act-" + act.name + "]")
			b.fill("#act-"+act.name+" input[name=reason]", "the wrong file\r")
			b.shows(act.done)
			if k, err := c.GateZero.KillSwitch(t.Context(), "spring 1/2"); err != nil || k.Killed != act.killed {
				t.Errorf("after %s it is killed: %t (%v)", act.name, k.Killed, err)
			}
		}
		b.shows("the wrong file")
		b.quiet()
	})
}

// TestConsolePolicy proves that a draft of the policy is refused with the line of what is
// wrong, that a good one says what it would change, and that it is put in force.
func TestConsolePolicy(t *testing.T) {
	tier.Only(t, tier.Browser)
	live.Either(t, func(t *testing.T, d database) {
		s, c, b := console(t, d)
		b.signIn(s.key())
		inForce, err := admin.New(c).Policy.Current(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		try := func(text string) {
			b.choose("textarea[name=text]", text)
			b.click("form[action='policy/try'] button.primary")
		}
		b.open("policy")
		try("nonsense: true\n" + inForce.Text)
		b.shows("What is wrong with it")
		b.shows("line 1, column 1")
		if draft := eval[string](b, "document.querySelector('textarea').value"); !strings.HasPrefix(draft, "nonsense: true") {
			t.Errorf("the draft that was refused is now %.40q", draft)
		}
		try("# a remark\n" + inForce.Text)
		b.shows("give the file a version of its own")
		b.until("document.querySelector('textarea').value.startsWith('# a remark')")
		try(strings.Replace(inForce.Text, inForce.Version, "9.9.9", 1))
		b.shows("What it would change")
		if now, err := admin.New(c).Policy.Current(t.Context()); err != nil || now.Version != inForce.Version {
			t.Errorf("trying a policy has put %s in force (%v)", now.Version, err)
		}
		b.fill("input[name=reason]", "a trial")
		b.click("button[name=apply]")
		b.shows("Policy 9.9.9 is in force")
		b.shows("a trial")
		if now, err := admin.New(c).Policy.Current(t.Context()); err != nil || strings.Contains(now.Text, "\r") {
			t.Errorf("the browser's ends of lines are in the policy (%v)", err)
		}
		b.quiet()
	})
}

// TestConsoleSilence proves that an alert that fires is seen, silenced and heard again.
func TestConsoleSilence(t *testing.T) {
	tier.Only(t, tier.Browser)
	live.Either(t, func(t *testing.T, d database) {
		s, c, b := console(t, d)
		b.signIn(s.key())
		b.open("alerts")
		b.shows("Nothing here fires")
		var many []recoup.Report
		for i := range 51 {
			many = append(many, recoup.Report{Table: "outreach.dol_errors", EntityID: fmt.Sprintf("D-%d", i), Code: "DUPLICATE_COMPANY"})
		}
		if _, err := c.ReportBatch(t.Context(), many); err != nil {
			t.Fatal(err)
		}
		b.shows("dol-park-threshold") // within seconds, by itself
		b.until(`document.querySelector("tr[data-row] .state.critical") !== null`)
		b.click("tr[data-row]:has(.state.critical) a.strong")
		b.shows("Nobody: people are notified.")
		b.choose("select[name=for]", "4h")
		b.fill("input[name=reason]", "we know\r")
		b.shows("It is silenced")
		b.shows("“we know”")
		b.open("alerts")
		b.shows("Silenced")
		b.click("form[action^='silences/'] button")
		b.shows("The silence is over.")
		b.shows("Nothing is silenced.")
		b.quiet()
	})
}
