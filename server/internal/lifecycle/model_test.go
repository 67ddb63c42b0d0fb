package lifecycle_test

import (
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// model is a second, naive opinion on the life of an error: a few numbers moved
// by plain rules, written from spec 000 without a look at the policy file.
type model struct {
	table    string
	code     recoup.Code
	state    recoup.State
	count    int
	tier     int
	parked   time.Time
	due      time.Time
	window   time.Time
	expires  time.Time
	lease    recoup.ID
	leaseEnd time.Time
	fatal    bool // a retry has shown that no retry helps

	severity recoup.Severity
	created  time.Time
	begun    time.Time // of the window
	second   bool      // it is judged by the second version
}

// secondVersion is the policy that lives in the middle of which the rules change
// go on under: MEDIUM lasts 10 days, TRANSIENT failures have 3 retries within 12
// hours.
var secondVersion = sync.OnceValue(func() *policy.Policy {
	return version("10d", "tiers", "MEDIUM", "lasts").
		With(3, "retry", "categories", "TRANSIENT", "max_retries").
		With("12h", "retry", "categories", "TRANSIENT", "window")
})

// tableRow is a row of spec 000, section 3, in the model's words.
type tableRow struct {
	days         int // 0: for ever
	retry, park  bool
	archive      bool
	defaultState recoup.State
	hubDays      int // what the hub insists on
	budget       int // what the hub raises the budget to
}

func tableRows() map[string]tableRow {
	return map[string]tableRow{
		dol:       {30, true, true, true, recoup.RetryPending, 0, 5},
		target:    {30, true, true, true, recoup.RetryPending, 30, 0},
		people:    {30, true, true, true, recoup.RetryPending, 30, 0},
		discovery: {90, true, false, true, recoup.Active, 0, 0},
		errorLog:  {90, false, false, true, recoup.Active, 0, 0},
		masterLog: {0, false, false, false, recoup.Active, 0, 0},
		orphans:   {30, false, true, true, recoup.Parked, 0, 0},
	}
}

// kinds of failure the model knows: budget, the n-th wait, window.
func (m *model) budget() int {
	switch {
	case m.fatal || m.code == "VALIDATION_ERROR":
		return 1
	case m.code == "UNREGISTERED_CODE" || m.second:
		return max(3, tableRows()[m.table].budget)
	}
	return 5
}

func (m *model) wait(n int) time.Duration {
	switch m.code {
	case "NETWORK_TIMEOUT":
		return time.Second << n
	case "QUOTA_EXCEEDED":
		return max(15*time.Minute, time.Second<<n)
	}
	return time.Duration(n) * 5 * time.Minute
}

func (m *model) windowFrom(t time.Time) time.Time {
	switch {
	case m.fatal || m.code == "VALIDATION_ERROR":
		return time.Time{}
	case m.code == "UNREGISTERED_CODE":
		return t.Add(7 * day)
	case m.second:
		return t.Add(12 * time.Hour)
	}
	return t.Add(24 * time.Hour)
}

func born(table string, code recoup.Code, severity recoup.Severity, now time.Time) *model {
	m := &model{table: table, code: code, severity: severity, created: now, begun: now}
	s := tableRows()[table]
	state := s.defaultState
	switch {
	case severity == recoup.Critical && s.park:
		state = recoup.Parked
	case severity == recoup.High && s.retry:
		state = recoup.RetryPending
	case severity == recoup.Low && s.archive:
		state = recoup.Active
	}
	m.window = m.windowFrom(now)
	m.expires = m.end()
	switch {
	case state == recoup.RetryPending && code == "VALIDATION_ERROR":
		m.park(now)
	case state == recoup.RetryPending:
		m.retry(now)
	case state == recoup.Parked:
		m.park(now)
	default:
		m.state = recoup.Active
	}
	return m
}

// end is when it expires: the hub's word comes before the severity's, and that
// before the table's.
func (m *model) end() time.Time {
	s := tableRows()[m.table]
	days := s.days
	switch {
	case s.days == 0:
		return time.Time{}
	case s.hubDays > 0:
		days = s.hubDays
	case m.severity == recoup.High && s.retry:
		days = 7
	case m.severity == recoup.Low && s.archive:
		days = 90
	}
	if m.second && days == 30 {
		days = 10
	}
	return m.created.AddDate(0, 0, days)
}

func (m *model) park(now time.Time) {
	m.lease, m.due = recoup.ID{}, time.Time{}
	if !tableRows()[m.table].park {
		m.state = recoup.Active
		return
	}
	m.state, m.tier, m.parked = recoup.Parked, 1, now
}

func (m *model) retry(now time.Time) {
	at := now.Add(m.wait(m.count + 1))
	if m.count >= m.budget() || !m.window.IsZero() && at.After(m.window) {
		m.park(now)
		return
	}
	m.state, m.due, m.lease = recoup.RetryPending, at, recoup.ID{}
}

// move applies an input that Step has accepted.
func (m *model) move(in lifecycle.Input, now time.Time) {
	switch in := in.(type) {
	case lifecycle.Claim:
		if !m.lease.IsZero() {
			m.expireLease(now)
		}
		if m.state != recoup.RetryPending {
			return
		}
		m.lease, m.leaseEnd = in.Token, now.Add(time.Minute)
		m.due = m.leaseEnd
	case lifecycle.Extend:
		m.leaseEnd = now.Add(time.Minute)
		m.due = m.leaseEnd
	case lifecycle.Succeed, lifecycle.Resolve:
		m.state, m.lease, m.due = recoup.Resolved, recoup.ID{}, time.Time{}
	case lifecycle.Fail:
		m.count++
		if in.Failure.Code == "VALIDATION_ERROR" {
			m.fatal = true
			m.park(now)
			return
		}
		m.retry(now)
	case lifecycle.Lapse:
		m.expireLease(now)
	case lifecycle.CloseWindow, lifecycle.Park:
		m.park(now)
	case lifecycle.Unpark:
		m.state, m.count, m.tier, m.parked, m.due = recoup.RetryPending, 0, 0, time.Time{}, now
		m.begun, m.window = now, m.windowFrom(now)
	case lifecycle.Rebase:
		m.rebase(now)
	case lifecycle.Escalate:
		m.escalate(in, now)
	case lifecycle.ArchiveNow, lifecycle.Expire:
		m.state, m.lease = recoup.Archived, recoup.ID{}
	}
}

// expireLease counts an attempt whose lease has expired.
func (m *model) expireLease(now time.Time) {
	m.count++
	m.lease, m.due = recoup.ID{}, now
	if m.count >= m.budget() || !m.window.IsZero() && now.After(m.window) {
		m.park(now)
	}
}

// rebase goes on under the second version: the end is counted anew from the
// beginning, and retries that have become too many or too late end in the park.
func (m *model) rebase(now time.Time) {
	m.second = true
	m.expires, m.window = m.end(), m.windowFrom(m.begun)
	if m.state != recoup.RetryPending {
		return
	}
	late := !m.window.IsZero() && (now.After(m.window) || m.due.After(m.window))
	if m.count >= m.budget() || late && m.lease.IsZero() {
		m.park(now)
	}
}

func (m *model) escalate(in lifecycle.Escalate, now time.Time) {
	m.state = recoup.Escalated
	switch parked := now.Sub(m.parked); {
	case in.By != "":
		m.tier++
	case parked >= 7*day:
		m.tier = 3
	default:
		m.tier = 2
	}
}
