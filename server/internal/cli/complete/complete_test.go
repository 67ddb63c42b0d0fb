package complete_test

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/cli"
	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
)

// complete is what a shell is offered behind the words.
func complete(t *testing.T, n *clitest.Node, words ...string) string {
	t.Helper()
	var out bytes.Buffer
	at := slices.IndexFunc(words, func(w string) bool { return w == "" || strings.HasPrefix(w, "--") })
	typed := slices.Insert(slices.Clone(words), at, "--server", n.URL)
	cli.Run(t.Context(), append([]string{"__complete"}, typed...), cli.Streams{Out: &out, Err: io.Discard})
	return out.String()
}

// TestComplete proves that what a server knows is offered for every kind of name, by
// flag and by argument.
func TestComplete(t *testing.T) {
	t.Parallel()
	n := clitest.Start(t, true)
	id := n.IDs("--limit", "1")[0]
	n.Must("jobs", "run", "counts")
	n.Must("views", "save", "late", "parked:yes", "older:2d")
	for _, c := range []struct{ typed, want string }{
		{"errors list --table ", "outreach.dol_errors\t"},
		{"errors list --hub ", "dol-filings\tDOL Filings"},
		{"errors list --state ", "RETRY_PENDING"},
		{"errors show ", id + "\t"},
		{"errors park " + id + " ", id + "\t"},
		{"errors list --group ", "\tEIN_MISMATCH in outreach.dol_errors"},
		{"errors list --view ", "late\tparked:yes older:2d"},
		{"groups show ", "\tEIN_MISMATCH in outreach.dol_errors"},
		{"groups list --state ", "ESCALATED"},
		{"views show ", "late\tparked:yes older:2d"},
		{"codes show ", "NETWORK_TIMEOUT\t"},
		{"report --code ", "NETWORK_TIMEOUT\t"},
		{"alerts silence ", "park-rate\t"},
		{"dead-letters list --pipeline ", "newsletter\n"},
		{"dead-letters triage --cause ", "TRANSIENT"},
		{"gate-zero status ", "2026_annual_outreach\t"},
		{"providers switch ", "email_validation\t"},
		{"jobs run ", "ttl\t"},
		{"notifications list --state ", "GIVEN_UP"},
		{"keys create --role ", "operator"},
	} {
		if got := complete(t, n, strings.Split(c.typed, " ")...); !strings.Contains(got, c.want) || !strings.Contains(got, ":4\n") {
			t.Errorf("%s is completed by\n%s, without %q", c.typed, got, c.want)
		}
	}
	if got := complete(t, n, "errors", "show", id, ""); got != ":4\n" {
		t.Errorf("a second id of a command that takes one: %s", got)
	}
}

// TestCompleteAlone proves that what Recoup itself knows is offered where no server
// answers, and nothing else is said.
func TestCompleteAlone(t *testing.T) {
	t.Parallel()
	n := clitest.At(t, "http://127.0.0.1:9")
	if got := complete(t, n, "errors", "list", "--code", ""); !strings.Contains(got, "NETWORK_TIMEOUT\t") {
		t.Errorf("codes without a server: %s", got)
	}
	if got := complete(t, n, "errors", "show", ""); got != ":4\n" {
		t.Errorf("ids without a server: %s", got)
	}
}
