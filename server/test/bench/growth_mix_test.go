package bench

import "fmt"

// mix is what errors of a volume are like, in SQL that both databases read: one
// row for each number i of a table n, which has a time {now}, and times in
// {minute}s before and after it; {group} is one of a thousand.
const mix = `t as table_name, 'CO-' || (i / 5) as entity_id, 'CODE_' || (i % 5) as code, 'TRANSIENT' as category, 'immediate' as class,
	'1.0.0' as policy_version, s as state, case s when 'RETRY_PENDING' then 'RETRY' when 'ACTIVE' then 'ARCHIVE' else 'PARKED' end as disposition,
	s <> 'ACTIVE' as blocking, {now} - (i % 60000) * {minute} as created_at, {now} - (i % 60000) * {minute} as updated_at,
	{now} + (i % 5000 + 1) * {minute} - (case when i < 10000 then 5 else 0 end) * {minute} as expires_at, 5 as max_retries,
	case when s = 'RETRY_PENDING' and i % 40 = 5 then {now} + (i % 200 + 1) * {minute} - (case when i < 10000 then 20 else 0 end) * {minute}
		when s = 'RETRY_PENDING' then {now} + (i % 2000) * {minute} - 1000 * {minute} end as next_retry_at,
	case s when 'RETRY_PENDING' then {now} + (i % 2000 + 1) * {minute} - (case when i < 10000 then 2 else 0 end) * {minute} end as retry_window_ends_at,
	case when s = 'RETRY_PENDING' and i % 40 = 5 then {id} end as lease_token,
	case when s = 'RETRY_PENDING' and i % 40 = 5 then {now} + (i % 200 + 1) * {minute} - (case when i < 10000 then 20 else 0 end) * {minute} end as lease_ends_at,
	case when s in ('PARKED', 'ESCALATED') then {now} - (i % 60000) * {minute} end as parked_at,
	case when s in ('PARKED', 'ESCALATED') then 'DATA_QUALITY' end as park_reason, case when s in ('PARKED', 'ESCALATED') then 'team' end as escalated_to,
	case when s in ('PARKED', 'ESCALATED') and i % 3 = 0 then 'ada' end as assigned_to, case s when 'ESCALATED' then 2 else 0 end as escalation_level,
	case s when 'PARKED' then {now} + (i % 1000 + 1) * {minute} - (case when i < 10000 then 100 else 0 end) * {minute} end as next_escalation_at,
	case when i % 2 = 0 then {now} + (i % 1000 + 1) * {minute} - (case when i < 10000 then 50 else 0 end) * {minute} end as next_reminder_at, s <> 'ACTIVE' as replaceable, {group} as group_id
	from (select i, case i % 4 when 0 then 'outreach.dol_errors' when 1 then 'outreach.company_target_errors'
			when 2 then 'people.people_errors' else 'company.url_discovery_failures' end as t,
		case when i % 4 = 3 then 'ACTIVE' when i % 100 < 80 then 'RETRY_PENDING' when i % 100 < 95 then 'PARKED' else 'ESCALATED' end as s from n) x`

// columns are those of the mix.
const columns = `table_name, entity_id, code, category, class, policy_version, state, disposition, blocking, created_at, updated_at, expires_at,
	max_retries, next_retry_at, retry_window_ends_at, lease_token, lease_ends_at, parked_at, park_reason, escalated_to, assigned_to,
	escalation_level, next_escalation_at, next_reminder_at, replaceable, group_id`

// eventRow is what event i is like, {apart} after the one before it.
const eventRow = `{event} as event_id, 'SAMPLE_' || (i / 20 % 40) as code, {event} as correlation_id, 'service-' || (i % 20) as service,
	'GET /v1/things/{id}' as endpoint, 503 as http_status, {begin} + i * {apart} as ts from n`

// sampleCodes registers the codes of the events.
func sampleCodes(insert func(code string)) {
	for i := range 40 {
		insert(fmt.Sprintf("SAMPLE_%d", i))
	}
}

// groupRow is what group i of dead letters is like.
const groupRow = `{id} as group_id, 'pipeline-' || (i % 10) as pipeline, 'fetch' as stage, 'CODE_' || (i % 5) as error_class,
	{now} - (i % 5000 + 1000) * {minute} as first_seen_at, {now} - (i % 5000) * {minute} as last_seen_at from n`

// groupsOf is how many groups of dead letters there are for so many errors: a page of
// each pipeline at least.
func groupsOf(errors int) int { return 1000 + errors/100 }
