package alert

import "github.com/recoup-dev/recoup/server/internal/policy"

// serviceRules watch Recoup itself: what its own alerts cannot say, because they are
// evaluated by a node that leads and reaches its database, and sent by one that can send.
// Each reads series that every node exports, but for up, which Prometheus makes.
func serviceRules(p *policy.Policy) RuleGroup {
	g := RuleGroup{Name: "recoup-service", Interval: "30s"}
	add := func(name, severity, wait, expr, summary, description string) {
		g.Rules = append(g.Rules, Rule{Alert: "Recoup" + name, Expr: expr, For: wait,
			Labels:      map[string]string{"severity": severity},
			Annotations: map[string]string{"summary": summary, "description": description}})
	}
	add("NodeDown", "high", "2m",
		`up == 0 and on (job, instance) present_over_time(recoup_leader[1h])`,
		`Recoup's node {{ $labels.instance }} does not answer`,
		`It was scraped within the last hour. Look at its log; the other nodes go on without it.`)
	add("NoLeader", "critical", "2m",
		`max({__name__=~"recoup_leader|recoup_idle|recoup_standby"}) == 0 or absent(recoup_leader)`,
		`No node of Recoup leads: nothing expires, escalates or alerts`,
		`See 'recoup jobs list' and the nodes' logs. If no node is scraped at all, look at the scrape's own settings.`)
	// A node's label job becomes exported_job where the scrape has a job of its own.
	add("JobLate", "high", "5m",
		`max without (instance) (recoup_job_late) == 1`,
		`Recoup's job {{ with $labels.exported_job }}{{ . }}{{ else }}{{ $labels.job }}{{ end }} is late`,
		`It is behind, or has not succeeded, for longer than it may. 'recoup jobs list' says why.`)
	add("NotificationsGivenUp", "high", "",
		`sum by (channel) (increase(recoup_notifications_total{outcome="given_up"}[15m])) > 0`,
		`Recoup gave up notifications through the channel {{ $labels.channel }}`,
		`'recoup notifications list --state GIVEN_UP' shows them, 'recoup channels test' tries the channel, 'recoup notifications resend' sends them again.`)
	add("LedgerDropping", "high", "",
		`sum by (outcome) (increase(recoup_ledger_events_total{outcome=~"lost|refused|dropped"}[15m])) > 0`,
		`Recoup's ledger does not keep every event: {{ $value | humanize }} {{ $labels.outcome }} in 15 minutes`,
		`refused: there was no room, and callers were told so. dropped: the database would not take them. lost: a node stopped before it could write them.`)
	add("DatabaseAway", "critical", "1m",
		`recoup_database_up == 0`,
		`Recoup's node {{ $labels.instance }} does not reach its database`,
		`The node is not ready, and answers nothing that needs the database. Its log and /readyz say why.`)
	add("ErrorsRefused", "high", "",
		`recoup_errors_refused > 0`,
		`Recoup's node {{ $labels.instance }} passes over {{ $value | humanize }} errors that the database refuses to change`,
		`A constraint or a trigger forbids what is due. The node's log names each error and why; 'recoup errors explain ID' does too.`)
	if !watches(p, Unattended) {
		add("NobodyClaims", "high", "", `max by (hub) (recoup_unattended_seconds) > 600`,
			`{{ $labels.hub }}: due work has waited for {{ $value | humanizeDuration }}, and no worker claims it`,
			`'recoup workers' shows where; start a worker for it.`)
	}
	return g
}

// watches reports whether a rule of the policy looks at a metric.
func watches(p *policy.Policy, metric string) bool {
	for i := range p.Alerts {
		if p.Alerts[i].Metric == metric {
			return true
		}
	}
	return false
}
