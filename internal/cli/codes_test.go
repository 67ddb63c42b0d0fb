package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"recoup"
	"recoup/fault"
)

func TestCodesOutput(t *testing.T) {
	for file, args := range map[string][]string{
		"codes_list.golden":             {"codes", "list"},
		"codes_list_conditional.golden": {"codes", "list", "--class", "Conditional"},
		"codes_list_rate.golden":        {"codes", "list", "--domain", "RATE", "--category", "transient"},
		"codes_show_retryable.golden":   {"codes", "show", "RATE_LIMIT_EXCEEDED"},
		"codes_show_idempotent.golden":  {"codes", "show", "NETWORK_TIMEOUT"},
		"codes_show_conditional.golden": {"codes", "show", "OUTCOME_UNKNOWN"},
		"codes_show_fatal.golden":       {"codes", "show", "RUNTIME_BUG"},
	} {
		out, _, status := run(t, args...)
		if status != ExitDone {
			t.Errorf("%v ends with %d", args, status)
		}
		golden(t, file, out)
	}
}

// Three codes are enough to see the form: one of each kind.
func TestCodesExportForms(t *testing.T) {
	var defs []*fault.Definition
	for _, code := range []recoup.Code{fault.CodeSlotConflict, fault.CodeUnregisteredCode, fault.CodeValidationError} {
		d, _ := fault.Default().Lookup(code)
		defs = append(defs, d)
	}
	for form, file := range map[string]string{"ts": "codes_export.ts.golden", "markdown": "codes_export.md.golden"} {
		data, err := exportCodes(form, defs)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, file, string(data))
		out, _, status := run(t, "codes", "export", "--format", form)
		if n := strings.Count(out, "\n"); status != ExitDone || n < len(fault.Default().All()) {
			t.Errorf("%s: %d lines, status %d", form, n, status)
		}
	}
}

func TestCodesFitThePage(t *testing.T) {
	list, _, _ := run(t, "codes", "list")
	pages := list
	for _, d := range fault.Default().All() {
		page, _, _ := run(t, "codes", "show", string(d.Code))
		pages += page
	}
	for line := range strings.Lines(pages) {
		if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > pageWidth || strings.HasSuffix(line, " ") {
			t.Errorf("too long, or blanks at its end: %q", line)
		}
	}
}

func TestCodesListJSON(t *testing.T) {
	out, _, _ := run(t, "codes", "list", "--domain", "rate", "--json")
	var defs []fault.Definition
	if err := json.Unmarshal([]byte(out), &defs); err != nil {
		t.Fatal(err)
	}
	if len(defs) == 0 || defs[0].Domain != "rate" || defs[0].Example == nil {
		t.Errorf("%+v", defs)
	}
}

func TestCodesMessages(t *testing.T) {
	for _, row := range []struct {
		args   string
		stderr string
		status int
	}{
		{"list --class conditional --domain rate", "\n1 code. 'recoup codes show CODE' explains one.\n", ExitDone},
		{"list --class immediate", "\n4 codes. 'recoup codes show CODE' explains one.\n", ExitDone},
		{"list --domain rate --class fatal", "No code matches.\n", ExitDone},
		{"show rate_limited", "RATE_LIMITED is an alias of RATE_LIMIT_EXCEEDED.\n\n", ExitDone},
		{"show stale_read", "stale_read is written STALE_READ.\n\n", ExitDone},
		{"show STALE_READ", "", ExitDone},
		{"show RATE_LIMT", "recoup: no code RATE_LIMT is registered\nThe nearest: RATE_LIMIT_EXCEEDED\n", ExitRefused},
		{"show RTAE_LIMITED", "recoup: no code RTAE_LIMITED is registered\nThe nearest: RATE_LIMIT_EXCEEDED\n", ExitRefused},
		{"show DUPLICAT", "recoup: no code DUPLICAT is registered\nThe nearest: DUPLICATE_COMPANY, DUPLICATE_RECORD, DUPLICATE_WRITE\n", ExitRefused},
		{"show QQQQ", "recoup: no code QQQQ is registered\n'recoup codes list' shows those that are\n", ExitRefused},
		{"show no-code", "recoup: code has the character '-' at position 3: expected letters, digits and _, beginning with a letter\n", ExitUsage},
		{"show", "recoup: CODE is missing\nRun 'recoup codes show --help' for what it takes\n", ExitUsage},
		{"list --domain sea", "recoup: unknown domain \"sea\": expected one of request, auth, resource, rate, runtime, data\n", ExitUsage},
		{"list --domain SEA", "recoup: unknown domain \"SEA\": expected one of request, auth, resource, rate, runtime, data\n", ExitUsage},
		{"list --class x", "recoup: unknown class \"x\": expected one of immediate, short_delay, long_delay, conditional, fatal\n", ExitUsage},
		{"list --category x", "recoup: unknown category \"x\": expected one of TRANSIENT, OPERATIONAL, STRUCTURAL\n", ExitUsage},
		{"export --format xml", "recoup: unknown format \"xml\": expected one of go, ts, json, markdown\n", ExitUsage},
	} {
		_, stderr, status := run(t, append([]string{"codes"}, strings.Fields(row.args)...)...)
		if stderr != row.stderr || status != row.status {
			t.Errorf("codes %s: %d, %q; want %d, %q", row.args, status, stderr, row.status, row.stderr)
		}
	}
}

// The constants of package fault are those of the registry.
func TestGeneratedCodeIsCurrent(t *testing.T) {
	const file = "../../fault/code_gen.go"
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if want, _, _ := run(t, "codes", "export", "--format", "go"); string(have) != want {
		t.Errorf("%s is out of date: run go generate ./fault", file)
	}
}

// The registry that is exported as JSON can be loaded again.
func TestCodesExportJSON(t *testing.T) {
	file := filepath.Join(t.TempDir(), "codes.json")
	out, stderr, status := run(t, "codes", "export", "--output", file)
	if out != "" || stderr != "" || status != ExitDone {
		t.Errorf("%d %q %q", status, out, stderr)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if reg, err := fault.Load(data); err != nil || len(reg.All()) != len(fault.Default().All()) {
		t.Errorf("%v", err)
	}
}
