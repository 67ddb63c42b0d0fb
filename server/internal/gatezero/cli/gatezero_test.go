package cli_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/gatezero/cli"
	"github.com/recoup-dev/recoup/server/internal/gatezero/verify"
)

const companies = `company_name,domain,state,employees
Acme Tools,acme.example,OH,12
,nameless.example,NY,3
Beta Works,beta.example,NY,40
"Gamma, Inc.",not a domain,NJ,5
Delta,delta.example,OH,7
`

// imports runs an import of standard input.
func imports(n *clitest.Node, file string, args ...string) clitest.Result {
	n.T.Helper()
	return n.As(command.Streams{In: strings.NewReader(file)}, n.Key, append([]string{"gate-zero", "import", "-", "--format", "csv"}, args...)...)
}

// intakes are the ids of intakes, by company.
func intakes(n *clitest.Node) map[string]string {
	n.T.Helper()
	c := n.Client()
	page, err := c.GateZero.Intakes(n.T.Context(), recoup.IntakeFilter{}, client.Page{})
	if err != nil {
		n.T.Fatal(err)
	}
	ids := map[string]string{}
	for _, i := range page.Intakes {
		ids[i.CompanyName] = i.ID.String()
	}
	return ids
}

// verifies runs a worker that finds what it is told to, by domain.
func verifies(n *clitest.Node, found map[string]verify.Reason) cli.Verified {
	n.T.Helper()
	s := &command.Session{Client: n.Client(), Streams: command.Streams{Out: &strings.Builder{}, Err: &strings.Builder{}}}
	sum, err := cli.VerifyAll(n.T.Context(), s, cli.Once("w1", 2),
		func(_ context.Context, domain, _ string) (verify.Reason, error) { return found[domain], nil })
	if err != nil {
		n.T.Fatal(err)
	}
	return sum
}

// An operator's fortnight: import, correct, import again, verify, pause, go on.
func TestGateZeroTranscript(t *testing.T) {
	t.Parallel()
	n := clitest.Start(t, false)
	var said strings.Builder
	for _, file := range []string{companies, strings.NewReplacer("\n,nameless", "\nNameless,nameless", "not a domain", "gamma.example").Replace(companies)} {
		r := imports(n, file, "--batch", "2026_outreach", "--complete")
		fmt.Fprintf(&said, "$ recoup gate-zero import - --format csv --batch 2026_outreach --complete\n%s%s[%d]\n\n", r.Err, r.Out, r.Status)
	}
	if sum := verifies(n, map[string]verify.Reason{
		"acme.example": verify.NoImprint, "nameless.example": verify.Timeout, "delta.example": verify.NotFound,
	}); fmt.Sprint(sum) != "map[DOMAIN_NOT_FOUND:1 DOMAIN_NO_IMPRINT:1 PASS:2 TIMEOUT:1]" {
		t.Errorf("verified: %v", sum)
	}
	said.WriteString(n.Transcript([]string{"gate-zero", "status"}))
	n.Wait(24 * time.Hour)
	said.WriteString(n.Transcript(
		[]string{"gate-zero", "eligible"},
		[]string{"gate-zero", "kill", "2026_outreach"},
		[]string{"gate-zero", "kill", "2026_outreach", "--reason", "a look at it"},
		[]string{"gate-zero", "kill", "2026_outreach", "--reason", "a second look"},
		[]string{"gate-zero", "eligible", "--batch", "2026_outreach"},
	))
	if sum := verifies(n, nil); len(sum) != 0 {
		t.Errorf("verified in a killed batch: %v", sum)
	}
	said.WriteString(n.Transcript([]string{"gate-zero", "release", "2026_outreach"}))
	if sum := verifies(n, map[string]verify.Reason{"nameless.example": verify.Timeout, "delta.example": verify.NotFound}); sum["PASS"] != 1 {
		t.Errorf("verified: %v", sum)
	}
	ids := intakes(n)
	said.WriteString(n.Transcript(
		[]string{"gate-zero", "show", ids["Nameless"]},
		[]string{"gate-zero", "show", ids["Acme Tools"]},
		[]string{"gate-zero", "status", "2026_outreach"},
		[]string{"gate-zero", "exhausted"},
		[]string{"gate-zero", "complete", "2026_outreach"},
		[]string{"gate-zero", "kill", "no_such_batch", "--reason", "a look at it"},
		[]string{"gate-zero", "show", "7"},
		[]string{"gate-zero", "import", "x.txt", "--batch", "b"},
		[]string{"gate-zero", "import", "x.csv"},
		[]string{"gate-zero", "verify", "--what", "nothing"},
	))
	clitest.Golden(t, "gate_zero.golden", said.String())
}

// A file is imported without a server, from where it broke off, and once.
func TestImportDirectly(t *testing.T) {
	t.Parallel()
	n := clitest.New(t, false)
	file := filepath.Join(t.TempDir(), "companies.ndjson")
	var lines strings.Builder
	for i := range cli.TransactionRows + 10 {
		fmt.Fprintf(&lines, "{\"company_name\":\"Company %d\"}\n", i)
	}
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	imports := func(more ...string) (sum cli.Imported, r clitest.Result) {
		args := append([]string{"gate-zero", "import", file, "--batch", "b1", "--json", "--database", "sqlite:" + n.File}, more...)
		out, stderr, status := clitest.Run(t, args...)
		clitest.Parse(t, out, &sum)
		return sum, clitest.Result{Out: out, Err: stderr, Status: status}
	}
	write(lines.String() + "nonsense\n")
	sum, r := imports("--complete")
	if sum.Rows != cli.TransactionRows+11 || sum.Added != cli.TransactionRows+10 || sum.Refused != 1 || sum.Lines[0].Line != cli.TransactionRows+11 || sum.Complete || r.Status != command.ExitRefused {
		t.Errorf("the first time: %+v, %+v", sum, r)
	}
	if want := fmt.Sprintf("%s:%d: the row is not a JSON object\n", file, cli.TransactionRows+11); !strings.HasPrefix(r.Err, want) {
		t.Errorf("said is %q", r.Err)
	}
	write(lines.String() + `{"company_name":"The last"}`)
	sum, r = imports("--complete")
	if sum.Added != 1 || sum.Present != cli.TransactionRows+10 || !sum.Complete || r.Status != command.ExitDone {
		t.Errorf("the second time: %+v, %+v", sum, r)
	}
	write(`{"company_name":"Too late"}`)
	if _, stderr, status := clitest.Run(t, "gate-zero", "import", file, "--batch", "b1", "--database", "sqlite:"+n.File); status != command.ExitRefused || !strings.Contains(stderr, "is complete") {
		t.Errorf("a complete batch: status %d, %s", status, stderr)
	}
}

// The command itself: a name server that is not there says nothing of a company.
func TestVerifyCommand(t *testing.T) {
	t.Parallel()
	n := clitest.Start(t, false)
	imports(n, companies, "--batch", "b1")
	if out := n.Must("gate-zero", "verify", "--once", "--worker", "w9", "--resolver", "127.0.0.1:1"); out != "verified: 3 API_UNAVAILABLE\n" {
		t.Errorf("verified is %q", out)
	}
	if out := n.Must("gate-zero", "verify", "--once", "--json"); strings.TrimSpace(out) != "{}" {
		t.Errorf("with nothing to do it says %q", out)
	}
}
