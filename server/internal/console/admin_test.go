package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/admin"
)

// TestKillSwitch proves that a batch is stopped and released by its page, and that the
// page says so.
func TestKillSwitch(t *testing.T) {
	t.Parallel()
	n, _ := start(t)
	if _, err := n.Client().GateZero.CreateBatch(t.Context(), "spring 1/2"); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Client().GateZero.CreateIntake(t.Context(), "spring 1/2", recoup.NewIntake{CompanyName: "Acme <b>", Domain: "example.com"}); err != nil {
		t.Fatal(err)
	}
	v := visit(t, n)
	v.signIn(n.Key)
	v.get("gate-zero").has(t, "1 batch at Gate Zero", "spring 1/2", `href="gate-zero/batches/spring%201%2F2"`)
	at := "gate-zero/batches/" + url.PathEscape("spring 1/2")
	p := v.get(at)
	p.has(t, "Kill switch", "Taken in")
	v.send(p, at+"/kill", url.Values{"reason": {"wrong file"}}).has(t, "The batch is stopped.", "“wrong file”", "Release")
	if s, err := n.Client().GateZero.KillSwitch(t.Context(), "spring 1/2"); err != nil || !s.Killed {
		t.Errorf("the kill switch is %+v: %v", s, err)
	}
	v.send(p, at+"/release", url.Values{"reason": {"it was right"}}).has(t, "The batch is released.")
}

// TestPolicyIsTried proves that a bad policy is refused with what is wrong, that a good one
// says what it would change and changes nothing, and that it is put in force on demand.
func TestPolicyIsTried(t *testing.T) {
	t.Parallel()
	n, _ := start(t)
	v := visit(t, n)
	v.signIn(n.Key)
	p := v.get("policy")
	p.has(t, "is in force", "outreach.dol_errors")
	v.send(p, "policy/try", url.Values{"text": {"version: 2.0.0\nnonsense: true\n"}}).has(t, "What is wrong with it", "nonsense")
	current, err := admin.New(n.Client()).Policy.Current(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	draft := strings.Replace(current.Text, current.Version, "9.9.9", 1)
	v.send(p, "policy/try", url.Values{"text": {draft}}).has(t, "What it would change", "Put it in force")
	if now, err := admin.New(n.Client()).Policy.Current(t.Context()); err != nil || now.Version != current.Version {
		t.Errorf("trying has put %s in force: %v", now.Version, err)
	}
	v.send(p, "policy/try", url.Values{"text": {draft}, "apply": {"yes"}, "reason": {"a trial"}}).has(t, "The policy is in force.", "Policy 9.9.9 is in force", "a trial")
	v.signIn(key(t, n, "operator"))
	p = v.get("policy")
	if got := v.send(p, "policy/try", url.Values{"text": {current.Text}, "apply": {"yes"}}); got.status != http.StatusForbidden {
		t.Errorf("an operator puts a policy in force: %d", got.status)
	}
}

// TestAdmin proves that jobs are run by the page, by an admin, and that the audit knows it.
func TestAdmin(t *testing.T) {
	t.Parallel()
	n, _ := start(t)
	v := visit(t, n)
	v.signIn(n.Key)
	p := v.get("admin")
	p.has(t, "Jobs", "The doctor", "Channels", "Keys", "Run now")
	v.get("doctor").has(t, "The doctor has", "checks,")
	v.send(p, "admin/jobs/leases/run", url.Values{}).has(t, "The job has run.")
	v.get("audit").has(t, "job.run", "leases")
	v.get("codes?text=timeout").has(t, "NETWORK_TIMEOUT")
	v.signIn(key(t, n, "reader"))
	p = v.get("admin")
	p.has(t, "Only an admin&#39;s key runs jobs.")
	if got := v.send(p, "admin/jobs/leases/run", url.Values{}); got.status != http.StatusForbidden {
		t.Errorf("a reader runs a job: %d", got.status)
	}
	if got := v.get("audit"); got.status != http.StatusForbidden {
		t.Errorf("a reader reads the audit: %d", got.status)
	}
}

// TestErrorGroups proves that errors of one cause are a group, which has an owner and a note,
// and that an act on it means all of it and nothing else.
func TestErrorGroups(t *testing.T) {
	t.Parallel()
	n, parked := start(t)
	v := visit(t, n)
	v.signIn(n.Key)
	e, err := n.Client().Errors.Get(t.Context(), parked.Error.ID)
	if err != nil {
		t.Fatal(err)
	}
	at := "groups/" + e.GroupID.String()
	var p page
	for p = v.get("groups"); !strings.Contains(p.body, at); p = v.get("groups") { // it is counted within seconds
		if t.Context().Err() != nil || p.status != http.StatusOK {
			t.Fatalf("the groups are %d\n%s", p.status, p.body)
		}
	}
	p = v.get(at)
	p.has(t, "VALIDATION_ERROR", "no such number")
	v.send(p, at+"/note", url.Values{"owner": {"grace"}, "note": {"the register changed"}}).has(t, "The group has its owner and its note.", "grace", "the register changed")
	v.send(p, "errors/preview", url.Values{"verb": {"resolve"}, "everything": {"yes"}, "filter": {"group=" + e.GroupID.String()}}).has(t, "Resolve 1 error?")
	v.get("errors/"+e.ID.String()).has(t, at)
}
