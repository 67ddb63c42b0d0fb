package policy_test

import (
	"encoding/json"
	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	policycmd "github.com/recoup-dev/recoup/server/internal/cli/policy"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPolicyOutput(t *testing.T) {
	for file, args := range map[string]string{
		"policy_show.golden":              "show",
		"policy_show_file.golden":         "show --policy ../../policy/testdata/small.yaml",
		"policy_explain_retry.golden":     "explain --table outreach.dol_errors --code network_timeout --severity high",
		"policy_explain_fatal.golden":     "explain --table outreach.dol_errors --code VALIDATION_ERROR",
		"policy_explain_hub.golden":       "explain --table outreach.company_target_errors --code DOMAIN_NOT_FOUND --severity HIGH",
		"policy_explain_condition.golden": "explain --table people.people_errors --code MISSING_NAME",
		"policy_explain_low.golden":       "explain --table outreach.dol_errors --code EIN_MISMATCH --severity LOW",
		"policy_explain_no_park.golden":   "explain --table company.url_discovery_failures --code RUNTIME_BUG",
		"policy_explain_infinite.golden":  "explain --table public.shq_master_error_log --code INTERNAL_ERROR --severity CRITICAL --entity=false",
		"policy_explain_orphan.golden":    "explain --table outreach.bit_errors --code SLOT_CONFLICT --proven",
		"policy_explain_unproven.golden":  "explain --table outreach.dol_errors --code SLOT_CONFLICT",
		"policy_explain_proven.golden":    "explain --table outreach.dol_errors --code OUTCOME_UNKNOWN --proven",
		"policy_explain_letter.golden":    "explain --table pipeline.dead_letters --code AUTH_DENIED --entity=false",
		"policy_explain.json.golden":      "explain --table outreach.dol_errors --code DNS_TIMEOUT --json",
	} {
		out, stderr, status := clitest.Run(t, append([]string{"policy"}, strings.Fields(args)...)...)
		if status != command.ExitDone || stderr != "" {
			t.Errorf("%s ends with %d: %s", args, status, stderr)
		}
		clitest.Golden(t, file, out)
	}
}

func TestPolicyFitsThePage(t *testing.T) {
	files, err := filepath.Glob("testdata/policy_*.golden")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > command.PageWidth || strings.HasSuffix(line, " ") {
				t.Errorf("%s: too long, or blanks at its end: %q", file, line)
			}
		}
	}
}

func TestPolicyShowJSON(t *testing.T) {
	out, _, _ := clitest.Run(t, "policy", "show", "--json")
	var got policycmd.View
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	cell := got.Tables[0].BySeverity["HIGH"]
	if len(got.Tables) != 8 || len(got.Ladder) != 3 || len(got.DeadTables) != 6 || cell.Disposition != "RETRY" || cell.TTL != "7d" || !cell.Blocks {
		t.Errorf("%+v", got)
	}
}

func TestPolicySchema(t *testing.T) {
	out, _, status := clitest.Run(t, "policy", "schema")
	var got struct {
		Schema string `json:"$schema"`
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || status != command.ExitDone || !strings.Contains(got.Schema, "2020-12") {
		t.Errorf("status %d, %v, %q", status, err, got.Schema)
	}
}

func TestPolicyFromTheEnvironment(t *testing.T) {
	t.Setenv("RECOUP_POLICY", "../../policy/testdata/small.yaml")
	out, _, _ := clitest.Run(t, "policy", "show")
	if !strings.Contains(out, "crm.lead_errors") {
		t.Errorf("the policy of the environment is not used:\n%s", out)
	}
}

// Who mistyped a variable last week looks for the mistake where it is.
func TestPolicyFileNamesItsSource(t *testing.T) {
	const bad = "../../policy/testdata/bad/30-unknown-hub.yaml"
	for _, row := range []struct {
		flag, variable, want string
	}{
		{"no-such-file", "", "recoup: cannot read the policy: open no-such-file: no such file or directory (given by --policy)\n"},
		{"", "no-such-file", "recoup: cannot read the policy: open no-such-file: no such file or directory (given by $RECOUP_POLICY)\n"},
		{"no-such-file", bad, "open no-such-file: no such file or directory (given by --policy)\n"},
		{bad, "", "\n30-unknown-hub.yaml is invalid: 2 problems (given by --policy).\n"},
		{"", bad, "\n30-unknown-hub.yaml is invalid: 2 problems (given by $RECOUP_POLICY).\n"},
	} {
		t.Setenv("RECOUP_POLICY", row.variable)
		for _, line := range []string{"show", "check", "simulate", "explain --table crm.lead_errors --code TIMEOUT"} {
			args := append([]string{"policy"}, strings.Fields(line)...)
			if row.flag != "" {
				args = append(args, "--policy", row.flag)
			}
			if _, stderr, status := clitest.Run(t, args...); status != command.ExitRefused || !strings.HasSuffix(stderr, row.want) {
				t.Errorf("%v with %q: status %d, said %q, want %q", args, row.variable, status, stderr, row.want)
			}
		}
	}
}

// Scripts see the condition as well as people.
func TestPolicyExplainConditionJSON(t *testing.T) {
	for flag, want := range map[string]policycmd.QuestionView{
		"--proven=false": {Class: "fatal", Condition: "state_changed"},
		"--proven":       {Class: "short_delay", Condition: "state_changed", Proven: true},
	} {
		out, _, _ := clitest.Run(t, "policy", "explain", "--table", "outreach.dol_errors", "--code", "SLOT_CONFLICT", "--json", flag)
		var got policycmd.ExplanationView
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatal(err)
		}
		if q := got.Question; q.Class != want.Class || q.Condition != want.Condition || q.Proven != want.Proven {
			t.Errorf("%s: %+v", flag, q)
		}
	}
}

// Of a table that does not allow RETRY, the retries are those that its errors are stored with.
func TestPolicyExplainWithoutRetry(t *testing.T) {
	out, _, _ := clitest.Run(t, "policy", "explain", "--table", "public.shq_master_error_log", "--code", "TIMEOUT", "--entity=false", "--json")
	var got policycmd.ExplanationView
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if e := got.Effective; e.MaxRetries != 5 || e.Floor != "1m" || e.Window != "24h" || e.Disposition == "RETRY" {
		t.Errorf("%+v", e)
	}
}

func TestPolicyMessages(t *testing.T) {
	for _, row := range []struct {
		args   string
		status int
		stderr string
	}{
		{"explain --code TIMEOUT", command.ExitUsage, "--table is missing"},
		{"explain --table outreach.dol_errors", command.ExitUsage, "--code is missing"},
		{"explain --table outreach.dol_errors --code TIMEOUT --severity BAD", command.ExitUsage, `unknown severity "BAD": expected one of CRITICAL, HIGH, MEDIUM, LOW`},
		{"explain --table outreach.dol_errors --code ?", command.ExitUsage, "code has the character"},
		{"explain --table outreach.dol_errors --code NEVER_HEARD_OF", command.ExitDone, "NEVER_HEARD_OF is not registered and counts as UNREGISTERED_CODE"},
		{"explain --table outreach.dol_errors --code TIMEOUT --proven", command.ExitDone, "TIMEOUT is not conditional: --proven changes nothing."},
		{"show --policy no-such-file.yaml", command.ExitRefused, "cannot read the policy: open no-such-file.yaml"},
		{"show --policy ../../policy/testdata/bad/30-unknown-hub.yaml", command.ExitRefused, "30-unknown-hub.yaml is invalid: 2 problems"},
		{"show --policy ../../policy/testdata/bad/30-unknown-hub.yaml", command.ExitRefused, "../../policy/testdata/bad/30-unknown-hub.yaml:12:26: salse is no hub"},
	} {
		_, stderr, status := clitest.Run(t, append([]string{"policy"}, strings.Fields(row.args)...)...)
		if status != row.status || !strings.Contains(stderr, row.stderr) {
			t.Errorf("%s: status %d, want %d; said %q, want %q", row.args, status, row.status, stderr, row.stderr)
		}
	}
}
