package codes_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/cli/codes"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
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
		out, _, status := clitest.Run(t, args...)
		if status != command.ExitDone {
			t.Errorf("%v ends with %d", args, status)
		}
		clitest.Golden(t, file, out)
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
		data, err := codes.ExportCodes(form, defs)
		if err != nil {
			t.Fatal(err)
		}
		clitest.Golden(t, file, string(data))
		out, _, status := clitest.Run(t, "codes", "export", "--format", form)
		if n := strings.Count(out, "\n"); status != command.ExitDone || n < len(fault.Default().All()) {
			t.Errorf("%s: %d lines, status %d", form, n, status)
		}
	}
}

func TestCodesFitThePage(t *testing.T) {
	list, _, _ := clitest.Run(t, "codes", "list")
	pages := list
	for _, d := range fault.Default().All() {
		page, _, _ := clitest.Run(t, "codes", "show", string(d.Code))
		pages += page
	}
	for line := range strings.Lines(pages) {
		if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > command.PageWidth || strings.HasSuffix(line, " ") {
			t.Errorf("too long, or blanks at its end: %q", line)
		}
	}
}

func TestCodesListJSON(t *testing.T) {
	out, _, _ := clitest.Run(t, "codes", "list", "--domain", "rate", "--json")
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
		{"list --class conditional --domain rate", "\n1 code. 'recoup codes show CODE' explains one.\n", command.ExitDone},
		{"list --class immediate", "\n4 codes. 'recoup codes show CODE' explains one.\n", command.ExitDone},
		{"list --domain rate --class fatal", "No code matches.\n", command.ExitDone},
		{"show rate_limited", "RATE_LIMITED is an alias of RATE_LIMIT_EXCEEDED.\n\n", command.ExitDone},
		{"show stale_read", "stale_read is written STALE_READ.\n\n", command.ExitDone},
		{"show STALE_READ", "", command.ExitDone},
		{"show RATE_LIMT", "recoup: code RATE_LIMT is not registered; did you mean RATE_LIMIT_EXCEEDED?\n", command.ExitRefused},
		{"show RTAE_LIMITED", "recoup: code RTAE_LIMITED is not registered; did you mean RATE_LIMIT_EXCEEDED?\n", command.ExitRefused},
		{"show DUPLICAT", "recoup: code DUPLICAT is not registered; did you mean DUPLICATE_COMPANY, DUPLICATE_RECORD, DUPLICATE_WRITE?\n", command.ExitRefused},
		{"show QQQQ", "recoup: code QQQQ is not registered\n'recoup codes list' lists those that are\n", command.ExitRefused},
		{"show no-code", "recoup: code has the character '-' at position 3: expected letters, digits and _, beginning with a letter\n", command.ExitUsage},
		{"show", "recoup: CODE is missing\nRun 'recoup codes show --help' for usage\n", command.ExitUsage},
		{"list --domain sea", "recoup: unknown domain \"sea\": expected one of request, auth, resource, rate, runtime, data\n", command.ExitUsage},
		{"list --domain SEA", "recoup: unknown domain \"SEA\": expected one of request, auth, resource, rate, runtime, data\n", command.ExitUsage},
		{"list --class x", "recoup: unknown class \"x\": expected one of immediate, short_delay, long_delay, conditional, fatal\n", command.ExitUsage},
		{"list --category x", "recoup: unknown category \"x\": expected one of TRANSIENT, OPERATIONAL, STRUCTURAL\n", command.ExitUsage},
		{"export --format xml", "recoup: unknown format \"xml\": expected one of go, ts, json, markdown\n", command.ExitUsage},
	} {
		_, stderr, status := clitest.Run(t, append([]string{"codes"}, strings.Fields(row.args)...)...)
		if stderr != row.stderr || status != row.status {
			t.Errorf("codes %s: %d, %q; want %d, %q", row.args, status, stderr, row.status, row.stderr)
		}
	}
}

// The constants of package fault are those of the registry.
func TestGeneratedCodeIsCurrent(t *testing.T) {
	const file = "../../../../fault/code_gen.go"
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if want, _, _ := clitest.Run(t, "codes", "export", "--format", "go"); string(have) != want {
		t.Errorf("%s is out of date: run go generate ./fault", file)
	}
}

// The registry that is exported as JSON can be loaded again.
func TestCodesExportJSON(t *testing.T) {
	file := filepath.Join(t.TempDir(), "codes.json")
	out, stderr, status := clitest.Run(t, "codes", "export", "--output", file)
	if out != "" || stderr != "" || status != command.ExitDone {
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
