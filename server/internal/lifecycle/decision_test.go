package lifecycle_test

import (
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// space draws errors of every shape: each field on its own, out of values that a
// decision may distinguish. What is derived is as the last step has left it.
type space struct {
	*rand.Rand
	policies []*policy.Policy
	fields   []reflect.StructField

	got, want []any // what differed
}

func newSpace(seed uint64) *space {
	fields := slices.DeleteFunc(reflect.VisibleFields(reflect.TypeFor[recoup.Error]()), func(f reflect.StructField) bool { return f.Anonymous })
	return &space{rand.New(rand.NewPCG(seed, 7)), []*policy.Policy{policy.Default(), secondVersion()}, fields, nil, nil}
}

func pick[V any](s *space, list ...V) V { return list[s.IntN(len(list))] }

// under is the policy that an error was admitted by.
func (s *space) under(e *recoup.Error) *policy.Policy {
	i := slices.IndexFunc(s.policies, func(p *policy.Policy) bool { return p.Version == e.PolicyVersion })
	return s.policies[max(i, 0)]
}

// draw gives a field another value, or the one that it has.
func (s *space) draw(name string, field reflect.Value) {
	var value any
	switch name {
	case "Table":
		value = pick(s, dol, dol, dol, target, people, discovery, errorLog, masterLog, "no.such_table")
	case "PolicyVersion":
		value = pick(s, s.policies[0].Version, s.policies[0].Version, s.policies[1].Version, "")
	case "EntityID":
		value = pick(s, "e1", "e2", "")
	case "Code", "LastFailureCode":
		value = pick(s, "NETWORK_TIMEOUT", "DNS_TIMEOUT", "DOMAIN_NOT_FOUND", "VALIDATION_ERROR", "RUNTIME_BUG", "MISSING_REQUIRED_FIELD")
	case "Severity":
		value = pick(s, append(recoup.Severities(), recoup.SeverityNone)...)
	case "Category":
		value = pick(s, recoup.Transient, recoup.Operational, recoup.Structural)
	case "Class":
		value = pick(s, recoup.ClassImmediate, recoup.ClassShortDelay, recoup.ClassLongDelay, recoup.ClassFatal)
	case "State":
		if value = recoup.RetryPending; s.IntN(4) == 0 {
			value = pick(s, recoup.States()...)
		}
	case "Disposition":
		if value = recoup.DispositionRetry; s.IntN(4) == 0 {
			value = pick(s, recoup.DispositionParked, recoup.DispositionArchive, recoup.DispositionResolved)
		}
	case "RetryCount":
		value = pick(s, 0, 1, 2)
	case "MaxRetries":
		value = pick(s, 1, 2, 3, 5)
	case "StreakFamily":
		value = pick(s, "", "", "domain-lookup")
	case "AssignedTo":
		value = pick(s, "", "", "a")
	case "ExpiresAt":
		value = pick(s, time.Time{}, epoch.Add(-day), epoch.Add(-day), epoch.Add(time.Hour), epoch.Add(30*day))
	case "LeaseWorker":
		value = pick(s, "w1", "w1", "w2", "")
	default:
		value = s.any(field)
	}
	field.Set(reflect.ValueOf(value).Convert(field.Type()))
}

func (s *space) any(field reflect.Value) any {
	switch field.Interface().(type) {
	case time.Time:
		return pick(s, time.Time{}, epoch.Add(-day), epoch.Add(time.Hour), epoch.Add(30*day))
	case recoup.ID:
		return pick(s, recoup.ID{}, recoup.ID{1}, recoup.ID{2})
	case bool:
		return s.IntN(2) == 0
	case int:
		return s.IntN(3)
	}
	return pick(s, "", "a", "b")
}

// mutate draws anew one in so many of the fields of an error.
func (s *space) mutate(e *recoup.Error, one int) {
	v := reflect.ValueOf(e).Elem()
	for i := range s.fields {
		if s.IntN(one) == 0 {
			s.draw(s.fields[i].Name, v.FieldByIndex(s.fields[i].Index))
		}
	}
	if s.under(e).Version == e.PolicyVersion {
		lifecycle.Derive(s.under(e), e)
	}
}

// input is a result of an error's lease, or a claim.
func (s *space) input() lifecycle.Input {
	return pick[lifecycle.Input](s,
		lifecycle.Expire{}, lifecycle.Expire{}, lifecycle.Expire{}, lifecycle.ArchiveNow{}, lifecycle.ArchiveNow{}, lifecycle.ArchiveNow{By: "ada", Reason: "done"},
		lifecycle.Claim{Worker: "w1"}, lifecycle.Claim{Worker: "w1", Lease: time.Minute},
		lifecycle.Succeed{}, lifecycle.Succeed{Reason: "it works"},
		lifecycle.Fail{Failure: failure("NETWORK_TIMEOUT")}, lifecycle.Fail{Failure: failure("NETWORK_TIMEOUT"), Reason: "again"},
		lifecycle.Fail{Failure: failure("DNS_TIMEOUT")}, lifecycle.Fail{Failure: failure("VALIDATION_ERROR")},
		lifecycle.Fail{Failure: lifecycle.Failure{Code: "RATE_LIMIT_EXCEEDED", Class: recoup.ClassLongDelay, Category: recoup.Transient, RetryAfter: time.Hour}})
}

// sent is an input as it is sent for an error, under the token of its lease.
func sent(in lifecycle.Input, e *recoup.Error) lifecycle.Input {
	switch in := in.(type) {
	case lifecycle.Claim:
		in.Token = recoup.ID{9}
		return in
	case lifecycle.Succeed:
		in.Token = e.LeaseToken
		return in
	case lifecycle.Fail:
		in.Token = e.LeaseToken
		return in
	}
	return in
}

// differs draws a pair of errors and an input, remembers what is decided on the one,
// and reports whether that stands for the other and yet is not what Step decides on
// it. spoil changes the memory.
func (s *space) differs(spoil func(*lifecycle.Decision)) (kind lifecycle.Kind, stands, differs bool) {
	var a recoup.Error
	s.mutate(&a, 1)
	in, now := s.input(), epoch.Add(time.Duration(s.IntN(3))*time.Second)
	next, effects, err := lifecycle.Step(s.under(&a), &a, sent(in, &a), now)
	if err != nil {
		return "", false, false
	}
	d, ok := lifecycle.Remember(&a, &next, &effects)
	if !ok {
		return "", false, false
	}
	spoil(d)
	b, later := a, now.Add(time.Duration(s.IntN(3))*time.Hour)
	s.mutate(&b, pick(s, 4, 12, 36))
	if !d.Holds(&b, later) {
		return d.Kind, false, false
	}
	want, wantEffects, err := lifecycle.Step(s.under(&b), &b, sent(in, &b), later)
	var got recoup.Error
	var gotEffects lifecycle.Effects
	if d.Kind == lifecycle.Claimed {
		got = d.Lease(&b, recoup.ID{9}, "w1", later)
	} else {
		got, gotEffects = d.End(&b, later)
	}
	s.got, s.want = []any{got, gotEffects}, []any{want, wantEffects, err}
	return d.Kind, true, err != nil || got != want || gotEffects != wantEffects
}

// draws is how many pairs are drawn.
func draws() int {
	if os.Getenv("RECOUP_SOAK") != "" {
		return 20_000_000
	}
	return 120_000
}

// What is remembered is what Step decides, for every error that it stands for.
func TestRememberedDecisionsAreSteps(t *testing.T) {
	t.Parallel()
	s, stood := newSpace(1), map[lifecycle.Kind]int{}
	for range draws() {
		kind, stands, differs := s.differs(func(*lifecycle.Decision) {})
		if stands {
			stood[kind]++
		}
		if differs {
			t.Fatalf("a remembered %s is not what Step decides\n got %+v\nwant %+v", kind, s.got, s.want)
		}
	}
	for _, kind := range []lifecycle.Kind{lifecycle.Claimed, lifecycle.Succeeded, lifecycle.Failed, lifecycle.Expiring, lifecycle.Archiving} {
		if stood[kind] < 100 {
			t.Errorf("a remembered %s stood for %d others", kind, stood[kind])
		}
	}
	t.Log(stood)
}

// Each of the columns matters: a memory that lacks one is caught.
func TestForgottenColumnsAreCaught(t *testing.T) {
	t.Parallel()
	columns := map[lifecycle.Kind][]string{}
	for s := newSpace(2); len(columns) < 5; {
		s.differs(func(d *lifecycle.Decision) {
			if list := d.Columns(); len(list) > len(columns[d.Kind]) { // what is resolved depends on less
				columns[d.Kind] = list
			}
		})
	}
	for kind, list := range columns {
		for _, column := range list {
			t.Run(string(kind)+"/"+column, func(t *testing.T) {
				t.Parallel()
				s := newSpace(3)
				for range draws() {
					if got, _, differs := s.differs(func(d *lifecycle.Decision) { d.Forget(column) }); differs && got == kind {
						return
					}
				}
				t.Errorf("%s can do without %s", kind, column)
			})
		}
	}
}
