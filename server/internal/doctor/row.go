package doctor

import (
	"fmt"
	"strings"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// verdict is what a broken invariant means, and what to do about it.
type verdict struct {
	severity wire.FindingSeverity
	subject  string
	evidence string
	fix      string // ID or CODE stands for the first of the rows
	repair   string // the statement that makes rows anew which only follow from others
}

var verdicts = map[string]verdict{
	store.RuleDeadline: {wire.FindingCritical, "errors without an end", "Open errors have neither a deadline nor an owner: nothing will ever happen to them.", "recoup errors resolve ID --reason REASON", ""},
	store.RuleQueued: {wire.FindingCritical, "errors outside the queue", "Errors that wait for a retry are not in the queue: no worker will get them.", FixHere,
		`insert into recoup.due (error_id, table_name, policy_version, due_at, window_ends_at, expires_at)
		select e.error_id, e.table_name, e.policy_version, coalesce(e.next_retry_at, recoup.clock()), e.retry_window_ends_at, e.expires_at from recoup.error e
		where e.state = 'RETRY_PENDING' and e.policy_version is not null and not exists (select from recoup.due d where d.error_id = e.error_id)`},
	store.RuleQueue: {wire.FindingWarning, "orphans in the queue", "The queue has rows without an error that waits for a retry: claims stumble over them.", FixHere,
		`delete from recoup.due d where d.lease_token is null and not exists (select from recoup.error e where e.error_id = d.error_id and e.state = 'RETRY_PENDING')`},
	store.RuleGateClosed: {wire.FindingCritical, "gate log", "Errors block, and the gate's log does not say so: the order of promotions cannot be proven.", "recoup errors history ID", ""},
	store.RuleGateOpened: {wire.FindingWarning, "gate log", "Errors do not block, and the gate's log says that they do.", "recoup errors history ID", ""},
	store.RuleCounts:     {wire.FindingWarning, "counts", "The counts of errors are wrong, and status, metrics and alerts go by them.", "", ""},
	store.RuleArchive: {wire.FindingWarning, "archive", "The retention of archived errors was over three days ago or more: they should be deleted.",
		"recoup jobs run archive", ""},
	store.RuleCodes: {wire.FindingWarning, "codes", "Events have codes that are not registered, as after a restore or with an attached partition.",
		"recoup codes add CODE --class CLASS --description TEXT", ""},
	store.RuleDeadLetters: {wire.FindingCritical, "dead letters", "The errors of dead letters are gone: those cannot be triaged or replayed.", "recoup dead-letters show ID", ""},
	store.RulePayloadKeys: {wire.FindingCritical, "payload keys", "Payloads or checkpoints are encrypted with keys that are gone: they cannot be read any more.",
		"recoup keys payload list", ""},
	store.RuleAdmission: {wire.FindingWarning, "rows of plain SQL", "Rows that plain SQL inserted more than 15 minutes ago are not admitted by any node: they block, and are not retried.",
		"recoup jobs list", ""},
	store.RuleNotices: {wire.FindingWarning, "undeliverable notifications", "Notifications were given up and not requeued: nobody was notified.",
		"recoup notifications resend --given-up", ""},
}

// judgeRows says what rows mean that break an invariant.
func judgeRows(in *Input) (found []FixableFinding) {
	for _, b := range in.Facts.Breaches {
		v, known := verdicts[b.Rule]
		if !known {
			v = verdict{severity: wire.FindingWarning, subject: "rows", evidence: "Rows break a rule: " + b.Rule + "."}
		}
		n := count(b.Rows, "row")
		if b.More {
			n = "More than " + n
		}
		fix := strings.NewReplacer(" ID", " "+Word(b.Sample[0]), " CODE", " "+Word(b.Sample[0])).Replace(v.fix)
		i := NewFinding(v.severity, v.subject, fmt.Sprintf("%s %s: %s.", v.evidence, n, strings.Join(b.Sample, ", ")), fix)
		switch {
		case v.repair != "" && in.Facts.Server != nil:
			i.Repair.Statements = []string{v.repair}
		case v.repair != "":
			i.Fix = ""
		}
		found = append(found, i)
	}
	return found
}
