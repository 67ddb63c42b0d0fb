package api

import (
	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

func eventManuals() map[string]routeDoc {
	week := map[string]string{"from": "2026-02-01T00:00:00Z", "to": "2026-02-08T00:00:00Z"}
	return map[string]routeDoc{
		"POST /v1/events": {
			about: "Adds failures to the ledger: one event, a list, an object with `events`, or NDJSON with an event on each line. Each is checked by itself, and the answer names the first hundred that were refused. Without `Prefer: respond-sync` the answer comes before they are on disk. An `event_id` that is known is not counted twice.",
			body:  `{"events": [{"code": "NETWORK_TIMEOUT", "service": "dol-sync", "endpoint": "/filings", "http_status": 504}]}`,
			fails: []recoup.Code{fault.CodeQuotaExceeded},
		},
		"GET /v1/events":        {about: "Events as they were stored, between 90 and 121 days back. All filters that are set must match.", params: map[string]string{"service": "dol-sync", "limit": "20"}},
		"GET /v1/events/export": {about: "Counts for a report, or, for admins, the events themselves page by page. Every export is in the audit.", params: week},
		"GET /v1/stats/top-codes": {
			about: "The most frequent codes of the last hours.", params: map[string]string{"hours": "24", "limit": "10"},
		},
		"GET /v1/stats/retryable-rate": {about: "For each service, how many of its failures were worth trying again.", params: week},
		"GET /v1/stats/daily":          {about: "Counts for each day, service and code, for a span of up to two years.", params: week},
		"GET /v1/stats/drops":          {about: "What the ledger had to leave out, by day and reason: fields that are not allowed, events that came too late or were malformed, and what clients dropped before they could send it.", params: week},
	}
}

func codeManuals() map[string]routeDoc {
	return map[string]routeDoc{
		"GET /v1/codes":        {about: "Every registered code: those that Recoup ships, and your own."},
		"GET /v1/codes/{code}": {about: "A code by its name or an alias, in either case. The same for people is at `/errors/CODE`.", params: map[string]string{"code": "NETWORK_TIMEOUT"}, fails: notFound},
		"PUT /v1/codes/{code}": {
			about: "Registers a code of your own, or changes it. Codes that Recoup ships cannot be changed, and one that the policy defines is changed there.", params: map[string]string{"code": "CARD_DECLINED"},
			body: `{"code": "CARD_DECLINED", "domain": "resource", "class": "fatal", "category": "OPERATIONAL", "severity": "MEDIUM", "http_status": 422, "origin": "payments",
				"description": "The issuer of the card declined the payment.", "causes": ["The card is blocked or has no cover."], "resolution": ["Ask the customer for another card."]}`,
			fails: []recoup.Code{fault.CodeBusinessRuleViolation},
		},
		"POST /v1/classify": {
			about: "Says which code a failure has and whether it is worth trying again, from an HTTP answer, a SQLSTATE or a provider's message. Nothing is stored.",
			body:  `{"status": 429, "headers": {"Retry-After": "30"}, "idempotent": true}`,
		},
	}
}

// examplePolicy is a small one.
const examplePolicy = `"text": "version: 2\ntables:\n  payments.capture_errors: {entity: order_id}\n"`

func policyManuals() map[string]routeDoc {
	return map[string]routeDoc{
		"GET /v1/policy":          {about: "The policy in force, as the text of its file."},
		"GET /v1/tables":          {about: "The error tables of the policy, and what has their names in the database. A name that something else has is `TAKEN`: the errors of that table are governed and kept, without a view of that name."},
		"GET /v1/policy/versions": {about: "Every version that was in force, newest first: when, by whom and why. Errors record the version that judged them.", params: map[string]string{"limit": "20"}},
		"POST /v1/policy/plan": {
			about: "Checks a policy and says what it would change for errors that are open now, table by table, without changing anything.",
			body:  "{" + examplePolicy + "}", fails: []recoup.Code{fault.CodeDuplicateRecord, fault.CodeBusinessRuleViolation},
		},
		"PUT /v1/policy": {
			about: "Checks a policy and puts it in force on every node. New errors are judged by it; open ones keep their version unless `rebase` is set. A version of the same name with another text is refused.",
			body:  "{" + examplePolicy + `, "reason": "payments take part"}`,
			fails: []recoup.Code{fault.CodeDuplicateRecord, fault.CodeBusinessRuleViolation, fault.CodeConflict},
		},
	}
}

func alertManuals() map[string]routeDoc {
	return map[string]routeDoc{
		"GET /v1/stats/metrics": {about: "The figures that alert rules judge, as they are now, each with its threshold and whether it is above."},
		"GET /v1/alerts":        {about: "Every episode of a rule, firing or over. `open` lists those that are PENDING or FIRING.", params: map[string]string{"open": "true"}},
		"GET /v1/alerts/{id}":   {about: "One alert: what held, since when, and who was notified.", fails: notFound},
		"GET /v1/silences":      {about: "Silences that hold now; with `past`, those that are over too."},
		"POST /v1/silences": {
			about: "Keeps people from being notified of alerts until a time, at most 30 days away. Alerts still fire and are listed.",
			body:  `{"rule": "park-rate", "until": "` + exampleTomorrow + `", "reason": "the register is down for maintenance"}`,
		},
		"DELETE /v1/silences/{id}": {about: "Ends a silence now. Ending it again changes nothing.", fails: notFound},
		"GET /v1/providers":        {about: "For each group of interchangeable providers, which one to use. An alert may have switched it; after a while it is switched back."},
		"POST /v1/providers/{group}/switch": {
			about: "Switches by hand. It stays until the next switch, by a person or by an alert.", params: map[string]string{"group": "email_validation"},
			body: `{"to": "zerobounce", "reason": "the first one answers slowly"}`, fails: []recoup.Code{fault.CodeNotFound, fault.CodeConflict},
		},
	}
}

func notificationManuals() map[string]routeDoc {
	return map[string]routeDoc{
		"GET /v1/notices": {about: "Notifications and what became of them. One that goes to several channels is listed once for each.", params: map[string]string{"state": "GIVEN_UP"}},
		"POST /v1/notices/resend": {
			about: "Sends notifications again that were given up. Ids of others are left alone, and the answer counts what was requeued.",
			body:  `{"ids": ["0198f2a4-7c31-7b4e-9d52-5a1f0c3e8b67"], "reason": "the mail server is back"}`,
		},
		"GET /v1/channels": {about: "The notification channels of this node and how they have done since it started, and those that the policy names and the node does not have. Reasons never repeat an address or a secret."},
		"POST /v1/channels/{name}/test": {
			about: "Sends one message through a channel that this node has, and says whether it was accepted.", params: map[string]string{"name": "log"}, body: `{}`, fails: notFound,
		},
	}
}

func gateZeroManuals() map[string]routeDoc {
	batch := map[string]string{"batch_id": "2026-02-05-west"}
	return map[string]routeDoc{
		"GET /v1/gate-zero/status":             {about: "Totals: batches, intakes by status, and recoveries by status and reason."},
		"GET /v1/gate-zero/batches":            {about: "Batches with how many of their intakes and recoveries are in which status."},
		"POST /v1/gate-zero/batches":           {about: "Makes a batch under a name of your own. A batch of that name that exists is returned as it is.", body: `{"batch_id": "2026-02-05-west"}`},
		"GET /v1/gate-zero/batches/{batch_id}": {about: "A batch with its counts and what was done to it as a whole: killed, released, frozen.", params: batch, fails: notFound},
		"POST /v1/gate-zero/batches/{batch_id}/complete": {
			about: "Says that the import is done. The recovery window begins: when it ends, nothing of the batch is retried any more. Completing it again changes nothing.", params: batch,
			body: `{"reason": "all files are in"}`, fails: []recoup.Code{fault.CodeNotFound, fault.CodeInvalidTransition, fault.CodeBatchKilled},
		},
		"GET /v1/gate-zero/intakes": {about: "Candidates with their status. All filters that are set must match.", params: map[string]string{"status": "FAILED", "limit": "20"}},
		"POST /v1/gate-zero/intakes": {
			about: "Takes in one company. With an `intake_id` of your own it may be sent again; without one, each call adds another.",
			body:  `{"company_name": "Example Widgets", "domain": "example.com", "state": "CA"}`,
			fails: []recoup.Code{fault.CodeNotFound, fault.CodeInvalidTransition, fault.CodeConflict, fault.CodeBatchKilled},
		},
		"POST /v1/gate-zero/intakes/import": {
			about: "Up to 10000 companies in one call: JSON, NDJSON, or CSV with a header. Rows that cannot be taken are named with their line, and the others are imported. With an `import_key` a row that was imported before is recognised.",
			body:  `{"intakes": [{"import_key": "row-1", "company_name": "Example Widgets", "domain": "example.com", "state": "CA"}]}`,
			fails: []recoup.Code{fault.CodeNotFound, fault.CodeInvalidTransition, fault.CodeBatchKilled},
		},
		"GET /v1/gate-zero/intakes/{id}":    {about: "A candidate, its recovery if it has one, and every event from its first result to its end.", fails: notFound},
		"GET /v1/gate-zero/recoveries":      {about: "Recoveries that may be retried now, the longest waiting first, or those that are exhausted.", params: map[string]string{"list": "EXHAUSTED"}},
		"GET /v1/gate-zero/recoveries/{id}": {about: "The recovery of one failed candidate: its reason, its attempts and when it is eligible again.", fails: notFound},
		"POST /v1/gate-zero/claim": {
			about: "Leases verifications: first those whose retry is eligible, then candidates that nobody has verified yet.",
			body:  `{"worker": "verifier-1", "limit": 10}`,
		},
		"POST /v1/gate-zero/results": {
			about: "Up to 1000 results in one call. A first verification names its intake; a retry names its recovery and the `lease_token`. `items` answers each in its place.",
			body:  `{"results": [{"intake_id": "0198f2a4-7c31-7b4e-9d52-5a1f0c3e8b67", "verdict": "FAIL", "reason": "DOMAIN_NOT_FOUND"}]}`,
		},
		"GET /cl/gate-zero/kill-switch": {about: "Whether a batch is stopped, since when, by whom and why.", params: batch, fails: notFound},
		"POST /cl/gate-zero/kill-switch": {
			about: "Stops a batch at once: nothing of it can be claimed, and leases that are out are revoked without counting an attempt.", params: batch, body: `{"reason": "a bad file"}`, fails: notFound,
		},
		"DELETE /cl/gate-zero/kill-switch": {about: "Lets a batch that was stopped go on. Its recovery window was not prolonged meanwhile.", params: batch, body: `{"reason": "the file is corrected"}`, fails: notFound},
	}
}

func operationManuals() map[string]routeDoc {
	return map[string]routeDoc{
		"GET /v1/workers":        {about: "Whether anybody works: of each error table and each lane of staged work how much is due and held by nobody, since when, how many workers have claimed lately on all nodes, and when the last claim was. Something due and no worker alive is `unattended`."},
		"GET /v1/adoptions":      {about: "The tables that were there before and are governed where they are (`recoup adopt`): which column means what, how far the backfill is, and how many changes wait for a node. A healthy node looks at a change within a second."},
		"GET /v1/jobs":           {about: "What the leading node does on a schedule: how often, how it went, and whether it is behind."},
		"GET /v1/doctor":         {about: "Compares the policy, the database and this node: names that are taken, guards that are missing or disabled, indexes, privileges, partitions, rows that break an invariant, jobs that are behind, settings that lose writes, backups and more. Each finding has its evidence and the command that fixes it. Nothing is changed; it reads a bounded sample of rows and takes some seconds at most."},
		"GET /v1/bus":            {about: "How the bus does that carries events to the ledger (`recoup serve --bus`): whether it takes events, what waits on it and since when, its replicas, what is in quarantine, and sequences that were never written while later ones were. Without a bus, `enabled` is false."},
		"GET /v1/bus/quarantine": {about: "Batches of events that failed five times to be written, or that cannot be read, by number. Nothing is done to them until somebody retries or drops them.", params: map[string]string{"limit": "20"}, fails: []recoup.Code{fault.CodeTemporaryUnavailable}},
		"POST /v1/bus/quarantine/retry": {
			about: "Writes the events of batches to the ledger, once what they failed on is mended, and takes them out of quarantine. Events that the ledger has are not counted again. Numbers that are not in quarantine are left alone, and the answer lists what was written.",
			body:  `{"numbers": [1], "reason": "the code is registered now"}`, fails: []recoup.Code{fault.CodeConflict, fault.CodeTemporaryUnavailable},
		},
		"POST /v1/bus/quarantine/drop": {
			about: "Deletes batches for good. Their events are counted among what was left out of the ledger, under `quarantine`. The answer lists what was deleted.",
			body:  `{"numbers": [1], "reason": "damaged on the disk of the bus"}`, fails: []recoup.Code{fault.CodeTemporaryUnavailable},
		},
		"POST /v1/jobs/{name}/run": {
			about: "Runs a job now, on this node, for a few seconds. If `more` is set, call it again. With `dry_run` it only counts. Running a job twice does no harm.", params: map[string]string{"name": "receipts"},
			body: `{"dry_run": true}`, fails: []recoup.Code{fault.CodeNotFound, fault.CodeConflict},
		},
		"GET /v1/ids/{part}": {
			about:  "What a person may mean by the beginning or the end of an id, newest first and ten at most. Errors are found in the archive as well; what the key may not list is not found.",
			params: map[string]string{"part": "9e4a71", "kind": "errors"},
		},
		"GET /v1/series":    {about: "What happened to the errors of the tables that the key may see, in each of the last hours: reported, retried, succeeded, resolved, parked, cleared, reviewed, escalated, expired and archived, and how many were parked when it ended; of everything, also the events of the ledger. By code, events and reports are counted. Thresholds are those of alert rules that compare one of these figures. Hours are kept for 35 days, and the present one is some seconds old.", params: map[string]string{"table": "outreach.dol_errors", "hours": "3"}},
		"GET /v1/forecast":  {about: "When the queue of each error table and each pipeline of staged work is empty at the pace of the last hour, as a range, or that it will not be. Of each park queue, at the pace of the last seven days: which review deadlines will be missed, and how many errors expire before anyone clears them, if the earliest deadlines are served first. Below 20 events, or three stretches of time in which anything is known, the verdict is `too_little_data`."},
		"GET /v1/stream":    {about: "What changes, as it does. With `Accept: text/event-stream`, as a browser's EventSource sends it, the answer is a stream that stays open: `hello` with the version and the counts, then `counts` when they change, `changed` with the errors that something happened to and their new states, or with the other things that have changed, by kind and id (of each kind the newest hundred are watched), `lost` when that was more than the reader could take, which must then read again what it shows, and `end`. The name of an event is also its member `event`. Comments come every 15 seconds, so that a stream that fell silent is known to be dead. Only what the key may see is told. Without that header the answer is what a stream begins with."},
		"GET /v1/audit":     {about: "Who did what to keys, policies, codes, silences and the like, and why. Entries are never changed.", params: map[string]string{"limit": "20"}},
		"GET /v1/receivers": {about: "The addresses that this node pushes work to, and what its deliveries came to since it started."},
		"GET /healthz":      {about: "Answers as long as the process runs, whatever else is wrong: for a liveness probe."},
		"GET /readyz":       {about: "Answers 200 if the node can serve: its database answers. With `for=events` it is enough that events can be taken, which a bus does while the database is away. `overloaded` means that it turns some calls away. `warnings` name what does not keep it from serving, such as a table whose name something else has in the database. For a readiness probe.", fails: []recoup.Code{fault.CodeDatabaseConnectionError}},
	}
}

func keyManuals() map[string]routeDoc {
	const reason = `{"reason": "every quarter"}`
	tenantKey := map[string]string{"key_id": "t20260202-0198f2a4"}
	return map[string]routeDoc{
		"GET /v1/keys":      {about: "Every API key with its role, hubs and when it was last used. Secrets are not shown.", params: map[string]string{"limit": "20"}},
		"GET /v1/keys/self": {about: "The key that the call was made with: who it belongs to, what it may do, for which hubs and until when."},
		"POST /v1/keys": {
			about: "Makes an API key. The answer is the only place where the secret, `key`, is ever shown. It expires after 90 days, or earlier.",
			body:  `{"name": "dol-sync", "role": "worker", "hubs": ["dol-filings"], "reason": "the new sync"}`,
		},
		"POST /v1/keys/{id}/revoke": {about: "Ends a key: this node refuses it at once, others within seconds. Revoking it again changes nothing.", body: `{"reason": "the laptop was lost"}`, fails: notFound},
		"POST /v1/keys/{id}/rotate": {
			about: "Makes a key with the same name, role and hubs. The old one works for `hours` more, so that its holders can change over.",
			body:  `{"hours": 24, "reason": "every quarter"}`, fails: []recoup.Code{fault.CodeNotFound, fault.CodeConflict},
		},
		"GET /v1/payload-keys":         {about: "The data keys that payloads and checkpoints are encrypted with, and which is in use. Their secrets are not shown."},
		"POST /v1/payload-keys/rotate": {about: "Encrypts payloads with a new key from now on. Older payloads stay readable with theirs.", body: reason},
		"POST /v1/payload-keys/wrap": {
			about: "Encrypts, with the master key, data keys that lie in the database as plaintext. Needs a master key to be set.", body: `{"reason": "a master key is set now"}`,
			fails: []recoup.Code{fault.CodeConflict, fault.CodeConfigurationError, fault.CodeBusinessRuleViolation},
		},
		"GET /v1/tenant-keys":         {about: "The keys that names of tenants are hashed with, and which is in use. Their secrets are not shown."},
		"POST /v1/tenant-keys/rotate": {about: "Hashes tenants with a new key from now on. What older keys hashed is still found.", body: reason},
		"POST /v1/tenant-keys/{key_id}/delete": {
			about: "Deletes a tenant key for good. What it hashed can no longer be told apart by tenant: that is its purpose. The key in use cannot be deleted.", params: tenantKey,
			body: `{"reason": "asked to be forgotten"}`, fails: []recoup.Code{fault.CodeNotFound, fault.CodeConflict},
		},
	}
}
