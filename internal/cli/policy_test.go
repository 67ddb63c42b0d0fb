package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPolicyOutput(t *testing.T) {
	for file, args := range map[string]string{
		"policy_show.golden":              "show",
		"policy_show_file.golden":         "show --policy ../policy/testdata/small.yaml",
		"policy_explain_retry.golden":     "explain --table outreach.dol_errors --code network_timeout --severity high",
		"policy_explain_fatal.golden":     "explain --table outreach.dol_errors --code VALIDATION_ERROR",
		"policy_explain_hub.golden":       "explain --table outreach.company_target_errors --code DOMAIN_NOT_FOUND --severity HIGH",
		"policy_explain_condition.golden": "explain --table people.people_errors --code MISSING_NAME",
		"policy_explain_low.golden":       "explain --table outreach.dol_errors --code EIN_MISMATCH --severity LOW",
		"policy_explain_no_park.golden":   "explain --table company.url_discovery_failures --code RUNTIME_BUG",
		"policy_explain_infinite.golden":  "explain --table public.shq_master_error_log --code INTERNAL_ERROR --severity CRITICAL --entity=false",
		"policy_explain_orphan.golden":    "explain --table outreach.bit_errors --code SLOT_CONFLICT --proven",
		"policy_explain_letter.golden":    "explain --table pipeline.dead_letters --code AUTH_DENIED --entity=false",
		"policy_explain.json.golden":      "explain --table outreach.dol_errors --code DNS_TIMEOUT --json",
	} {
		out, stderr, status := run(t, append([]string{"policy"}, strings.Fields(args)...)...)
		if status != ExitDone || stderr != "" {
			t.Errorf("%s ends with %d: %s", args, status, stderr)
		}
		golden(t, file, out)
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
			if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > pageWidth || strings.HasSuffix(line, " ") {
				t.Errorf("%s: too long, or blanks at its end: %q", file, line)
			}
		}
	}
}

func TestPolicyShowJSON(t *testing.T) {
	out, _, _ := run(t, "policy", "show", "--json")
	var got policyView
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	cell := got.Tables[0].BySeverity["HIGH"]
	if len(got.Tables) != 8 || len(got.Ladder) != 3 || len(got.DeadTables) != 6 || cell.Disposition != "RETRY" || cell.TTL != "7d" || !cell.Blocks {
		t.Errorf("%+v", got)
	}
}

func TestPolicySchema(t *testing.T) {
	out, _, status := run(t, "policy", "schema")
	var got struct {
		Schema string `json:"$schema"`
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || status != ExitDone || !strings.Contains(got.Schema, "2020-12") {
		t.Errorf("status %d, %v, %q", status, err, got.Schema)
	}
}

func TestPolicyFromTheEnvironment(t *testing.T) {
	t.Setenv("RECOUP_POLICY", "../policy/testdata/small.yaml")
	out, _, _ := run(t, "policy", "show")
	if !strings.Contains(out, "crm.lead_errors") {
		t.Errorf("the policy of the environment is not used:\n%s", out)
	}
}

func TestPolicyMessages(t *testing.T) {
	for _, row := range []struct {
		args   string
		status int
		stderr string
	}{
		{"explain --code TIMEOUT", ExitUsage, "--table is missing"},
		{"explain --table outreach.dol_errors", ExitUsage, "--code is missing"},
		{"explain --table outreach.dol_errors --code TIMEOUT --severity BAD", ExitUsage, `unknown severity "BAD": expected one of CRITICAL, HIGH, MEDIUM, LOW`},
		{"explain --table outreach.dol_errors --code ?", ExitUsage, "code has the character"},
		{"explain --table outreach.dol_errors --code NEVER_HEARD_OF", ExitDone, "NEVER_HEARD_OF is not registered and counts as UNREGISTERED_CODE"},
		{"show --policy no-such-file.yaml", ExitRefused, "the policy cannot be read: open no-such-file.yaml"},
		{"show --policy ../policy/testdata/bad/30-unknown-hub.yaml", ExitRefused, "30-unknown-hub.yaml is refused: 2 problems."},
		{"show --policy ../policy/testdata/bad/30-unknown-hub.yaml", ExitRefused, "../policy/testdata/bad/30-unknown-hub.yaml:12:26: salse is no hub"},
		{"shwo", ExitUsage, `unknown command "shwo"`},
	} {
		_, stderr, status := run(t, append([]string{"policy"}, strings.Fields(row.args)...)...)
		if status != row.status || !strings.Contains(stderr, row.stderr) {
			t.Errorf("%s: status %d, want %d; said %q, want %q", row.args, status, row.status, stderr, row.stderr)
		}
	}
}
