package policy_test

import (
	"errors"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// questions yields every question that a policy can distinguish: each table, one
// that does not exist, each code with a rule of its own, one without.
func questions(p *policy.Policy) iter.Seq[policy.Question] {
	tables := []string{"no.such_table"}
	for _, t := range p.Tables() {
		tables = append(tables, t.Name)
	}
	for _, d := range p.DeadTables {
		tables = append(tables, d.Name)
	}
	codes := []recoup.Code{"ANY_OTHER"}
	for _, c := range p.Conditions {
		codes = append(codes, c.Codes...)
	}
	for _, h := range p.Hubs {
		for _, f := range h.Overrides.Families {
			codes = append(codes, f.Codes...)
		}
	}
	return func(yield func(policy.Question) bool) {
		for _, table := range tables {
			for _, code := range codes {
				for q := range classified(policy.Question{Table: table, Code: code}) {
					if !yield(q) {
						return
					}
				}
			}
		}
	}
}

// classified yields q with every class, category, severity, with and without
// an entity.
func classified(q policy.Question) iter.Seq[policy.Question] {
	return func(yield func(policy.Question) bool) {
		for _, q.Class = range append(recoup.Classes(), "") {
			for _, q.Category = range append(recoup.Categories(), "") {
				for _, q.Severity = range append(recoup.Severities(), "") {
					for _, q.Entity = range []bool{true, false} {
						if !yield(q) {
							return
						}
					}
				}
			}
		}
	}
}

// TestWholeSpace proves what callers rely on for every question there is.
func TestWholeSpace(t *testing.T) {
	asked := 0
	for _, data := range [][]byte{policy.DefaultFile(), read(t, "testdata/small.yaml")} {
		p, err := policy.Load("policy", data, nil)
		if err != nil {
			t.Fatal(err)
		}
		for q := range questions(p) {
			asked++
			if broken := violations(p, q); len(broken) > 0 {
				t.Fatalf("%+v\n%+v\n%s", q, p.Resolve(q), strings.Join(broken, "\n"))
			}
		}
	}
	if asked < 10_000 {
		t.Errorf("%d questions asked, expected the whole space", asked)
	}
}

// violations names the promises of Resolve and Explain that an answer breaks.
func violations(p *policy.Policy, q policy.Question) []string {
	e := p.Resolve(q)
	_, known := p.Table(q.Table)
	acts := e.Action == recoup.ActionRetry || e.Action == recoup.ActionPark
	manual := q.Category == recoup.Structural || q.Class == recoup.ClassFatal || q.Class == recoup.ClassConditional
	tier := slices.IndexFunc(p.Tiers, func(t policy.Tier) bool { return t.Name == e.TTLTier })
	var broken []string
	promise := func(holds bool, what string) {
		if !holds {
			broken = append(broken, what)
		}
	}
	promise(e.Table.Allows(e.Action), "the table allows the disposition")
	promise(e.Orphaned || e.Table.Name == q.Table, "who is no orphan stays in its table")
	promise(!e.Orphaned || e.Table == p.OrphanTable, "orphans go to the orphan table")
	promise(known || e.Orphaned, "an unknown table makes an orphan")
	promise(e.Orphaned || q.Entity || e.Table.EntityOptional, "a required entity is there")
	promise(tier >= 0 && p.Tiers[tier].TTL == e.TTL, "the TTL is the tier's")
	promise(e.Table.Infinite() == (e.TTL == 0), "only INFINITE tables keep for ever, and they always do")
	promise(e.Blocks == (e.Table.Blocks && q.Entity && acts), "rule 6.1 of spec 000 decides what blocks")
	promise(e.Action != recoup.ActionPark || e.ParkReason != "", "what is parked says why")
	promise(!e.NotifyOwner || !e.Table.Allows(recoup.ActionPark), "owners are notified only where PARK is not allowed")
	promise(e.Manual == manual, "fatal and structural failures are by hand")
	promise(!e.Manual || e.Action != recoup.ActionRetry, "what is by hand is not retried by the system")
	promise(!e.Manual || e.Schedule.Kind == retry.None && e.Window == 0, "what is by hand has no schedule")
	promise(e.Manual || e.Schedule.Validate() == nil && e.Schedule.Kind != retry.None, "what is retried has a schedule")
	promise(e.MaxRetries > 0, "there is a budget")
	return append(broken, explained(p, q, e)...)
}

// explained names what Explain and Outlook get wrong about an answer.
func explained(p *policy.Policy, q policy.Question, e policy.Effective) []string {
	var broken []string
	same, reasons := p.Explain(q)
	if !reflect.DeepEqual(same, e) {
		broken = append(broken, "Explain and Resolve agree")
	}
	standing := map[string]string{}
	for _, r := range reasons {
		if r.Why == "" || r.Value == "" {
			broken = append(broken, "every reason has words: "+r.Field)
		}
		if !r.Overruled {
			standing[r.Field] = r.Value
		}
	}
	if standing["table"] != e.Table.Name || standing["disposition"] != string(e.Action) || standing["park_reason"] != string(e.ParkReason) ||
		standing["ttl"] != policy.DescribeTTL(e.TTLTier, e.TTL) || standing["max_retries"] == "" || standing["blocks"] == "" {
		broken = append(broken, "the reasons that stand give the answer")
	}
	outlook := p.Outlook(e)
	if len(outlook) == 0 || outlook[0].After < 0 || !slices.IsSortedFunc(outlook, func(a, b policy.Moment) int { return int(min(1, max(-1, a.After-b.After))) }) {
		broken = append(broken, "the outlook is in the order of time")
	}
	return broken
}

// FuzzLoad feeds anything to Load: it must not panic, must refuse with a
// LoadError, and what it accepts must keep every promise.
func FuzzLoad(f *testing.F) {
	f.Add(policy.DefaultFile())
	f.Add(read(f, "testdata/small.yaml"))
	for _, file := range badFiles(f) {
		f.Add(read(f, file))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := policy.Load("fuzz.yaml", data, fault.Default())
		var refused *policy.LoadError
		switch {
		case err != nil && (!errors.As(err, &refused) || len(refused.Problems) == 0 || p != nil):
			t.Fatalf("the error is %T %v, expected a LoadError with problems", err, err)
		case err != nil:
			for _, problem := range refused.Problems {
				if problem.Line < 1 || problem.Column < 1 {
					t.Fatalf("a problem without a place: %+v", problem)
				}
			}
			return
		case p == nil:
			t.Fatal("neither a policy nor an error")
		}
		asked := 0
		for q := range questions(p) {
			// A part of the space is enough here, so that more files are tried;
			// the stride shares no factor with the space.
			if asked++; asked%stride != 0 {
				continue
			}
			if broken := violations(p, q); len(broken) > 0 {
				t.Fatalf("%+v\n%+v\n%s", q, p.Resolve(q), strings.Join(broken, "\n"))
			}
		}
	})
}

const stride = 211
