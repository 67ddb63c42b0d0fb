package command_test

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"unicode"

	"github.com/goccy/go-yaml"
	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// hostile are texts that steer a terminal, break YAML or are formulas.
func hostile() []string {
	list := []string{
		"\x1b]0;owned\x07title", "\x1b[2J\x1b[1;31mred", "over\rwritten", "back\b\b\bspace", "\u009b31mC1", "\u202egnp.exe\u202c", "\u2066isolate\u2069",
		"\u200ehidden\u200f", "\x7fdel", "a\u2028b\u2029c", "tag\U000e0041\U000e007f", "null\x00byte",
		"key: value", "- item", "# comment", "yes", "null", "~", "1e3", "0x10", "'quoted'", `"quoted"`, "two\nlines", "  spaces  ", "trailing\n", "\ttab", "{a: b}", "*alias", "&anchor", "!tag", "%dir", "|", ">",
		"recoup-escaped-0-\x1b", "=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(A1)",
	}
	return list
}

// reasons is a server with a silence for each text, which is its rule, reason and author.
func reasons(t *testing.T, texts ...string) string {
	t.Helper()
	return clitest.Stub(t, func(w http.ResponseWriter, _ *http.Request) {
		var page wire.SilencePage
		for _, text := range texts {
			page.Silences = append(page.Silences, wire.Silence{Rule: text, Reason: text, Until: clitest.Morning})
		}
		if err := json.NewEncoder(w).Encode(page); err != nil {
			t.Error(err)
		}
	}).URL
}

// No form of output has a character that steers a terminal, and what programs read is what
// was stored.
func TestHostileText(t *testing.T) {
	t.Parallel()
	server := reasons(t, hostile()...)
	for _, form := range []string{"table", "wide", "json", "yaml", "csv"} {
		out, stderr, status := clitest.Run(t, "alerts", "silences", "--server", server, "-o", form)
		if status != command.ExitDone {
			t.Fatalf("%s: %s", form, stderr)
		}
		for _, r := range out + stderr {
			if !unicode.IsGraphic(r) && r != '\n' && r != '\t' {
				t.Errorf("%s has %U", form, r)
			}
		}
		var page struct{ Silences []wire.Silence }
		switch form {
		case "json":
			if err := json.Unmarshal([]byte(out), &page); err != nil {
				t.Error(err)
			}
		case "yaml":
			if err := yaml.UnmarshalWithOptions([]byte(out), &page, yaml.UseJSONUnmarshaler()); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		case "csv":
			wantCells(t, out)
			continue
		default:
			continue
		}
		for i, want := range hostile() {
			if i >= len(page.Silences) || page.Silences[i].Reason != want || page.Silences[i].Rule != want {
				t.Errorf("%s: %q is not read back", form, want)
			}
		}
	}
}

// wantCells wants rows of CSV without formulas.
func wantCells(t *testing.T, out string) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(rows) != len(hostile())+1 {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	for _, row := range rows[1:] {
		for _, cell := range row {
			if cell != "" && strings.ContainsRune("=+-@", rune(cell[0])) {
				t.Errorf("the cell %q is a formula", cell)
			}
		}
	}
}

func TestInert(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		"": "", "-12": "-12", "-1.5e3": "-1.5e3", "+7": "'+7", "-1+1": "'-1+1", "=A1": "'=A1", "@x": "'@x", "＝A1": "'＝A1", "＠x": "'＠x", "a-b": "a-b",
		"a\x1b[0m": `a\u001b[0m`, "=\r1": `'=\u000d1`, "two\nlines": "two\nlines",
	} {
		if got := command.Inert(cell); got != want {
			t.Errorf("%q: %q, want %q", cell, got, want)
		}
	}
}

// JSON that is escaped has the same value, whatever is in it.
func TestEscapeJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text") + string(rapid.SampledFrom([]rune{0x1b, 0x7f, 0x9b, 0x202e, 0xe0041, 'a'}).Draw(t, "rune"))
		data, err := json.Marshal(map[string]string{text: text})
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]string
		if err := json.Unmarshal(command.EscapeJSON(data), &got); err != nil || len(got) != 1 || got[text] != text {
			t.Errorf("%q: %q (%v)", text, got, err)
		}
	})
}
