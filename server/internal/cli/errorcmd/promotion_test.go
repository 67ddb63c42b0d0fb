package errorcmd_test

import (
	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"strings"
	"testing"
)

// A script's clitest.Morning: report, see the gate closed, resolve, go on.
func TestGateTranscript(t *testing.T) {
	t.Parallel()
	n := clitest.Start(t, true)
	report := []string{"report", "--table", "outreach.dol_errors", "--entity", "CO-7", "--code", "network_timeout", "--message", "call 415-555-0100 about it"}
	said := n.Transcript(
		[]string{"promotion", "check", "CO-7"}, // of which nobody has heard
		append(report, "--idempotency-key", "first"),
		append(report, "--idempotency-key", "first"),
		append(report, "--severity", "high", "--retry-after", "90s", "--service", "import"),
		[]string{"report", "--table", "no.such_table", "--entity", "CO-8", "--code", "MY_OWN"},
		[]string{"report", "--table", "outreach.dol_errors", "--code", "?"},
		[]string{"promotion", "check", "CO-7"},
		[]string{"promote", "CO-7", "--phase", "outreach"},
	)
	said += n.Transcript(
		[]string{"errors", "resolve", n.IDs("--entity", "CO-7")[0], "--reason", "the server is back"},
		[]string{"promotion", "check", "CO-7"},
		[]string{"promote", "CO-7", "--phase", "outreach", "--idempotency-key", "go"},
		[]string{"promote", "CO-7", "--phase", "outreach", "--idempotency-key", "go"},
		[]string{"promote", "CO-7", "--phase", "another", "--idempotency-key", "go"},
	)
	clitest.Golden(t, "promotion.golden", said)
}

// Wrong usage is reported before anything is opened or sent.
func TestServerCommandsMisused(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"report --code X":                                 "--table is missing",
		"report --table x.y":                              "--code is missing",
		"report --table x.y --code X --severity BAD":      `unknown severity "BAD"`,
		"report --table x.y --code X --proven nothing":    `unknown condition "nothing": expected one of idempotency_key, same_payload, state_changed`,
		"report --table x.y --code X --correlation-id 1":  `--correlation-id "1" is not an id`,
		"report --table x.y --code X --retry-after 1week": `"1week" is no duration`,
		"promote CO-1":                                    "--phase is missing",
		"promote":                                         "ENTITY is missing",
		"promotion check":                                 "ENTITY is missing",
		"top --hours 0":                                   "--hours is 0: expected a number from 1 to 2160",
		"top --limit 2000":                                "--limit is 2000",
		"events --from never":                             `--from "never" is not a time`,
		"events --to never":                               `--to "never" is not a time`,
		"events --correlation-id x":                       `--correlation-id "x" is not an id`,
		"events --limit -1":                               "--limit is -1",
		"events sned":                                     `unknown command "sned" for "recoup events": did you mean send?`,
		"export events --format xml":                      `unknown format "xml": expected one of csv, json, ndjson`,
		"export events --format csv --json":               "--json asks for JSON, --format for csv",
		"policy plan":                                     "FILE is missing",
		"policy apply x.yaml":                             "--reason is missing",
		"keys create --name x":                            "--role is missing: expected one of ingest, worker, operator, admin, reader",
		"keys create --role king --name x":                `unknown role "king"`,
		"keys create --role admin":                        "--name is missing",
		"keys create --role admin --name x --days 91":     "--days is 91: expected a number from 1 to 90",
		"keys revoke x":                                   `"x" is not an id`,
		"keys rotate 0198c0de-0000-7000-8000-000000000001 --hours 169": "--hours is 169: expected a number from 0 to 168",
		"keys rotate x --hours 1":                                      `"x" is not an id`,
		"keys list --server http://x --database sqlite:x":              "--server and --database are given: expected one of the two",
		"keys list --database mysql:x":                                 "--database must be sqlite:FILE or postgres://",
		"keys list --server ftp://x":                                   "the server must be an address",
	} {
		if _, stderr, status := clitest.Run(t, strings.Fields(args)...); status != command.ExitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d, said %q, want %q", args, status, stderr, want)
		}
	}
}

// A report that lacks the entity of its table is kept among the orphans. The answer names the
// entity as what is missing, with its flag, and not the table.
func TestReportWithoutEntity(t *testing.T) {
	t.Parallel()
	n := clitest.Start(t, false)
	for args, want := range map[string]string{
		"report --table outreach.dol_errors --code NETWORK_TIMEOUT": "outreach.dol_errors requires an entity and the report names none, so public.shq_orphan_errors holds it. Report it again with --entity.",
		"report --table no.such_table --code NETWORK_TIMEOUT":       "The policy has no table no.such_table, so public.shq_orphan_errors holds it.",
	} {
		done := n.Run(strings.Fields(args)...)
		if done.Status != 0 || !strings.Contains(done.Err, want) {
			t.Errorf("%s: %+v, want %q", args, done, want)
		}
	}
}
