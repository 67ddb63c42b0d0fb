package api

import (
	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
)

func eventManuals() map[string]httpapi.Doc {
	week := map[string]string{"from": "2026-02-01T00:00:00Z", "to": "2026-02-08T00:00:00Z"}
	return map[string]httpapi.Doc{
		"POST /v1/events": {
			About: "Adds failures to the ledger: one event, a list, an object with `events`, or NDJSON with an event on each line. Each is checked by itself, and the answer names the first hundred that were refused. Without `Prefer: respond-sync` the answer comes before they are on disk. An `event_id` that is known is not counted twice.",
			Body:  `{"events": [{"code": "NETWORK_TIMEOUT", "service": "dol-sync", "endpoint": "/filings", "http_status": 504}]}`,
			Fails: []recoup.Code{fault.CodeQuotaExceeded},
		},
		"GET /v1/events":        {About: "Events as they were stored, between 90 and 121 days back. All filters that are set must match.", Params: map[string]string{"service": "dol-sync", "limit": "20"}},
		"GET /v1/events/export": {About: "Counts for a report, or, for admins, the events themselves page by page. Every export is in the audit.", Params: week},
		"GET /v1/stats/top-codes": {
			About: "The most frequent codes of the last hours.", Params: map[string]string{"hours": "24", "limit": "10"},
		},
		"GET /v1/stats/retryable-rate": {About: "For each service, how many of its failures were worth trying again.", Params: week},
		"GET /v1/stats/daily":          {About: "Counts for each day, service and code, for a span of up to two years.", Params: week},
		"GET /v1/stats/drops":          {About: "What the ledger had to leave out, by day and reason: fields that are not allowed, events that came too late or were malformed, and what clients dropped before they could send it.", Params: week},
	}
}

func codeManuals() map[string]httpapi.Doc {
	return map[string]httpapi.Doc{
		"GET /v1/codes":        {About: "Every registered code: those that Recoup ships, and your own."},
		"GET /v1/codes/{code}": {About: "A code by its name or an alias, in either case. The same for people is at `/errors/CODE`.", Params: map[string]string{"code": "NETWORK_TIMEOUT"}, Fails: notFound},
		"PUT /v1/codes/{code}": {
			About: "Registers a code of your own, or changes it. Codes that Recoup ships cannot be changed, and one that the policy defines is changed there.", Params: map[string]string{"code": "CARD_DECLINED"},
			Body: `{"code": "CARD_DECLINED", "domain": "resource", "class": "fatal", "category": "OPERATIONAL", "severity": "MEDIUM", "http_status": 422, "origin": "payments",
				"description": "The issuer of the card declined the payment.", "causes": ["The card is blocked or has no cover."], "resolution": ["Ask the customer for another card."]}`,
			Fails: []recoup.Code{fault.CodeBusinessRuleViolation},
		},
		"POST /v1/classify": {
			About: "Says which code a failure has and whether it is worth trying again, from an HTTP answer, a SQLSTATE or a provider's message. Nothing is stored.",
			Body:  `{"status": 429, "headers": {"Retry-After": "30"}, "idempotent": true}`,
		},
	}
}

// examplePolicy is a small one.
const examplePolicy = `"text": "version: 2\ntables:\n  payments.capture_errors: {entity: order_id}\n"`

func policyManuals() map[string]httpapi.Doc {
	return map[string]httpapi.Doc{
		"GET /v1/policy":          {About: "The policy in force, as the text of its file."},
		"GET /v1/tables":          {About: "The error tables of the policy, and what has their names in the database. A name that something else has is `TAKEN`: the errors of that table are governed and kept, without a view of that name."},
		"GET /v1/policy/versions": {About: "Every version that was in force, newest first: when, by whom and why. Errors record the version that judged them.", Params: map[string]string{"limit": "20"}},
		"POST /v1/policy/plan": {
			About: "Checks a policy and says what it would change for errors that are open now, table by table, without changing anything.",
			Body:  "{" + examplePolicy + "}", Fails: []recoup.Code{fault.CodeDuplicateRecord, fault.CodeBusinessRuleViolation},
		},
		"PUT /v1/policy": {
			About: "Checks a policy and puts it in force on every node. New errors are judged by it; open ones keep their version unless `rebase` is set. A version of the same name with another text is refused.",
			Body:  "{" + examplePolicy + `, "reason": "payments take part"}`,
			Fails: []recoup.Code{fault.CodeDuplicateRecord, fault.CodeBusinessRuleViolation, fault.CodeConflict},
		},
	}
}

func alertManuals() map[string]httpapi.Doc {
	return map[string]httpapi.Doc{
		"GET /v1/stats/metrics": {About: "The figures that alert rules judge, as they are now, each with its threshold and whether it is above."},
		"GET /v1/alerts":        {About: "Every episode of a rule, firing or over. `open` lists those that are PENDING or FIRING.", Params: map[string]string{"open": "true"}},
		"GET /v1/alerts/{id}":   {About: "One alert: what held, since when, and who was notified.", Fails: notFound},
		"GET /v1/silences":      {About: "Silences that hold now; with `past`, those that are over too."},
		"POST /v1/silences": {
			About: "Keeps people from being notified of alerts until a time, at most 30 days away. Alerts still fire and are listed.",
			Body:  `{"rule": "park-rate", "until": "` + exampleTomorrow + `", "reason": "the register is down for maintenance"}`,
		},
		"DELETE /v1/silences/{id}": {About: "Ends a silence now. Ending it again changes nothing.", Fails: notFound},
		"GET /v1/providers":        {About: "For each group of interchangeable providers, which one to use. An alert may have switched it; after a while it is switched back."},
		"POST /v1/providers/{group}/switch": {
			About: "Switches by hand. It stays until the next switch, by a person or by an alert.", Params: map[string]string{"group": "email_validation"},
			Body: `{"to": "zerobounce", "reason": "the first one answers slowly"}`, Fails: []recoup.Code{fault.CodeNotFound, fault.CodeConflict},
		},
	}
}

func notificationManuals() map[string]httpapi.Doc {
	return map[string]httpapi.Doc{
		"GET /v1/notices": {About: "Notifications and what became of them. One that goes to several channels is listed once for each.", Params: map[string]string{"state": "GIVEN_UP"}},
		"POST /v1/notices/resend": {
			About: "Sends notifications again that were given up. Ids of others are left alone, and the answer counts what was requeued.",
			Body:  `{"ids": ["0198f2a4-7c31-7b4e-9d52-5a1f0c3e8b67"], "reason": "the mail server is back"}`,
		},
		"GET /v1/channels": {About: "The notification channels of this node and how they have done since it started, and those that the policy names and the node does not have. Reasons never repeat an address or a secret."},
		"POST /v1/channels/{name}/test": {
			About: "Sends one message through a channel that this node has, and says whether it was accepted.", Params: map[string]string{"name": "log"}, Body: `{}`, Fails: notFound,
		},
	}
}

func operationManuals() map[string]httpapi.Doc {
	return map[string]httpapi.Doc{
		"GET /v1/workers":   {About: "Whether anybody works: of each error table and each lane of staged work how much is due and held by nobody, since when, how many workers have claimed lately on all nodes, and when the last claim was. Something due and no worker alive is `unattended`."},
		"GET /v1/adoptions": {About: "The tables that were there before and are governed where they are (`recoup adopt`): which column means what, how far the backfill is, and how many changes wait for a node. A healthy node looks at a change within a second."},
		"GET /v1/jobs":      {About: "What the leading node does on a schedule: how often, how it went, and whether it is behind."},
		"GET /v1/doctor":    {About: "Compares the policy, the database and this node: names that are taken, guards that are missing or disabled, indexes, privileges, partitions, rows that break an invariant, jobs that are behind, settings that lose writes, backups and more. Each finding has its evidence and the command that fixes it. Nothing is changed; it reads a bounded sample of rows and takes some seconds at most."},
		"POST /v1/jobs/{name}/run": {
			About: "Runs a job now, on this node, for a few seconds. If `more` is set, call it again. With `dry_run` it only counts. Running a job twice does no harm.", Params: map[string]string{"name": "receipts"},
			Body: `{"dry_run": true}`, Fails: []recoup.Code{fault.CodeNotFound, fault.CodeConflict},
		},
		"GET /v1/ids/{part}": {
			About:  "What a person may mean by the beginning or the end of an id, newest first and ten at most. Errors are found in the archive as well; what the key may not list is not found.",
			Params: map[string]string{"part": "9e4a71", "kind": "errors"},
		},
		"GET /v1/series":    {About: "What happened to the errors of the tables that the key may see, in each of the last hours: reported, retried, succeeded, resolved, parked, cleared, reviewed, escalated, expired and archived, and how many were parked when it ended; of everything, also the events of the ledger. By code, events and reports are counted. Thresholds are those of alert rules that compare one of these figures. Hours are kept for 35 days, and the present one is some seconds old.", Params: map[string]string{"table": "outreach.dol_errors", "hours": "3"}},
		"GET /v1/forecast":  {About: "When the queue of each error table and each pipeline of staged work is empty at the pace of the last hour, as a range, or that it will not be. Of each park queue, at the pace of the last seven days: which review deadlines will be missed, and how many errors expire before anyone clears them, if the earliest deadlines are served first. Below 20 events, or three stretches of time in which anything is known, the verdict is `too_little_data`."},
		"GET /v1/stream":    {About: "What changes, as it does. With `Accept: text/event-stream`, as a browser's EventSource sends it, the answer is a stream that stays open: `hello` with the version and the counts, then `counts` when they change, `changed` with the errors that something happened to and their new states, or with the other things that have changed, by kind and id (of each kind the newest hundred are watched), `lost` when that was more than the reader could take, which must then read again what it shows, and `end`. The name of an event is also its member `event`. Comments come every 15 seconds, so that a stream that fell silent is known to be dead. Only what the key may see is told. Without that header the answer is what a stream begins with."},
		"GET /v1/audit":     {About: "Who did what to keys, policies, codes, silences and the like, and why. Entries are never changed.", Params: map[string]string{"limit": "20"}},
		"GET /v1/receivers": {About: "The addresses that this node pushes work to, and what its deliveries came to since it started."},
		"GET /healthz":      {About: "Answers as long as the process runs, whatever else is wrong: for a liveness probe."},
		"GET /readyz":       {About: "Answers 200 if the node can serve: its database answers. With `for=events` it is enough that events can be taken, which a bus does while the database is away. `overloaded` means that it turns some calls away. `warnings` name what does not keep it from serving, such as a table whose name something else has in the database. For a readiness probe.", Fails: []recoup.Code{fault.CodeDatabaseConnectionError}},
	}
}

func keyManuals() map[string]httpapi.Doc {
	const reason = `{"reason": "every quarter"}`
	tenantKey := map[string]string{"key_id": "t20260202-0198f2a4"}
	return map[string]httpapi.Doc{
		"GET /v1/keys":      {About: "Every API key with its role, hubs and when it was last used. Secrets are not shown.", Params: map[string]string{"limit": "20"}},
		"GET /v1/keys/self": {About: "The key that the call was made with: who it belongs to, what it may do, for which hubs and until when."},
		"POST /v1/keys": {
			About: "Makes an API key. The answer is the only place where the secret, `key`, is ever shown. It expires after 90 days, or earlier.",
			Body:  `{"name": "dol-sync", "role": "worker", "hubs": ["dol-filings"], "reason": "the new sync"}`,
		},
		"POST /v1/keys/{id}/revoke": {About: "Ends a key: this node refuses it at once, others within seconds. Revoking it again changes nothing.", Body: `{"reason": "the laptop was lost"}`, Fails: notFound},
		"POST /v1/keys/{id}/rotate": {
			About: "Makes a key with the same name, role and hubs. The old one works for `hours` more, so that its holders can change over.",
			Body:  `{"hours": 24, "reason": "every quarter"}`, Fails: []recoup.Code{fault.CodeNotFound, fault.CodeConflict},
		},
		"GET /v1/payload-keys":         {About: "The data keys that payloads and checkpoints are encrypted with, and which is in use. Their secrets are not shown."},
		"POST /v1/payload-keys/rotate": {About: "Encrypts payloads with a new key from now on. Older payloads stay readable with theirs.", Body: reason},
		"POST /v1/payload-keys/wrap": {
			About: "Encrypts, with the master key, data keys that lie in the database as plaintext. Needs a master key to be set.", Body: `{"reason": "a master key is set now"}`,
			Fails: []recoup.Code{fault.CodeConflict, fault.CodeConfigurationError, fault.CodeBusinessRuleViolation},
		},
		"GET /v1/tenant-keys":         {About: "The keys that names of tenants are hashed with, and which is in use. Their secrets are not shown."},
		"POST /v1/tenant-keys/rotate": {About: "Hashes tenants with a new key from now on. What older keys hashed is still found.", Body: reason},
		"POST /v1/tenant-keys/{key_id}/delete": {
			About: "Deletes a tenant key for good. What it hashed can no longer be told apart by tenant: that is its purpose. The key in use cannot be deleted.", Params: tenantKey,
			Body: `{"reason": "asked to be forgotten"}`, Fails: []recoup.Code{fault.CodeNotFound, fault.CodeConflict},
		},
	}
}
