package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"recoup/client"
	"recoup/internal/verifier"
)

const companies = `company_name,domain,state,employees
Acme Tools,acme.example,OH,12
,nameless.example,NY,3
Beta Works,beta.example,NY,40
"Gamma, Inc.",not a domain,NJ,5
Delta,delta.example,OH,7
`

// imports runs an import of standard input.
func (n *testNode) imports(file string, args ...string) result {
	n.t.Helper()
	return n.as(Streams{In: strings.NewReader(file)}, n.key, append([]string{"gate-zero", "import", "-", "--format", "csv"}, args...)...)
}

// intakes are the ids of intakes, by company.
func (n *testNode) intakes() map[string]string {
	n.t.Helper()
	c := n.client()
	page, err := c.Intakes(n.t.Context(), client.IntakeFilter{}, client.Page{})
	if err != nil {
		n.t.Fatal(err)
	}
	ids := map[string]string{}
	for _, i := range page.Intakes {
		ids[i.CompanyName] = i.ID.String()
	}
	return ids
}

func (n *testNode) client() *client.Client {
	n.t.Helper()
	c, err := client.New(client.Options{Server: n.url, Key: n.key})
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(c.Close)
	return c
}

// verifies runs a worker that finds what it is told to, by domain.
func (n *testNode) verifies(found map[string]verifier.Reason) verified {
	n.t.Helper()
	s := &session{Client: n.client(), Streams: Streams{Out: &strings.Builder{}, Err: &strings.Builder{}}}
	sum, err := s.verifyAll(n.t.Context(), verifyFlags{worker: "w1", parallel: 2, once: true, every: time.Second},
		func(_ context.Context, domain, _ string) (verifier.Reason, error) { return found[domain], nil })
	if err != nil {
		n.t.Fatal(err)
	}
	return sum
}

// An operator's fortnight: import, correct, import again, verify, pause, go on.
func TestGateZeroTranscript(t *testing.T) {
	t.Parallel()
	n := startNode(t, false)
	var said strings.Builder
	for _, file := range []string{companies, strings.NewReplacer("\n,nameless", "\nNameless,nameless", "not a domain", "gamma.example").Replace(companies)} {
		r := n.imports(file, "--batch", "2026_outreach", "--complete")
		fmt.Fprintf(&said, "$ recoup gate-zero import - --format csv --batch 2026_outreach --complete\n%s%s[%d]\n\n", r.err, r.out, r.status)
	}
	if sum := n.verifies(map[string]verifier.Reason{
		"acme.example": verifier.NoImprint, "nameless.example": verifier.Timeout, "delta.example": verifier.NotFound,
	}); fmt.Sprint(sum) != "map[DOMAIN_NOT_FOUND:1 DOMAIN_NO_IMPRINT:1 PASS:2 TIMEOUT:1]" {
		t.Errorf("verified: %v", sum)
	}
	said.WriteString(n.transcript([]string{"gate-zero", "status"}))
	n.advance(24 * time.Hour)
	said.WriteString(n.transcript(
		[]string{"gate-zero", "eligible"},
		[]string{"gate-zero", "kill", "2026_outreach"},
		[]string{"gate-zero", "kill", "2026_outreach", "--reason", "a look at it"},
		[]string{"gate-zero", "kill", "2026_outreach", "--reason", "a second look"},
		[]string{"gate-zero", "eligible", "--batch", "2026_outreach"},
	))
	if sum := n.verifies(nil); len(sum) != 0 {
		t.Errorf("verified in a killed batch: %v", sum)
	}
	said.WriteString(n.transcript([]string{"gate-zero", "release", "2026_outreach"}))
	if sum := n.verifies(map[string]verifier.Reason{"nameless.example": verifier.Timeout, "delta.example": verifier.NotFound}); sum["PASS"] != 1 {
		t.Errorf("verified: %v", sum)
	}
	ids := n.intakes()
	said.WriteString(n.transcript(
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
	golden(t, "gate_zero.golden", said.String())
}

// A file is imported without a server, from where it broke off, and once.
func TestImportDirectly(t *testing.T) {
	t.Parallel()
	n := newNode(t, false)
	file := filepath.Join(t.TempDir(), "companies.ndjson")
	var lines strings.Builder
	for i := range transactionRows + 10 {
		fmt.Fprintf(&lines, "{\"company_name\":\"Company %d\"}\n", i)
	}
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	imports := func(more ...string) (sum importSum, r result) {
		args := append([]string{"gate-zero", "import", file, "--batch", "b1", "--json", "--database", "sqlite:" + n.file}, more...)
		out, stderr, status := run(t, args...)
		parse(t, out, &sum)
		return sum, result{out, stderr, status}
	}
	write(lines.String() + "nonsense\n")
	sum, r := imports("--complete")
	if sum.Rows != transactionRows+11 || sum.Added != transactionRows+10 || sum.Refused != 1 || sum.Lines[0].Line != transactionRows+11 || sum.Complete || r.status != ExitRefused {
		t.Errorf("the first time: %+v, %+v", sum, r)
	}
	if want := fmt.Sprintf("%s:%d: the row is not a JSON object\n", file, transactionRows+11); !strings.HasPrefix(r.err, want) {
		t.Errorf("said is %q", r.err)
	}
	write(lines.String() + `{"company_name":"The last"}`)
	sum, r = imports("--complete")
	if sum.Added != 1 || sum.Present != transactionRows+10 || !sum.Complete || r.status != ExitDone {
		t.Errorf("the second time: %+v, %+v", sum, r)
	}
	write(`{"company_name":"Too late"}`)
	if _, stderr, status := run(t, "gate-zero", "import", file, "--batch", "b1", "--database", "sqlite:"+n.file); status != ExitRefused || !strings.Contains(stderr, "is complete") {
		t.Errorf("a complete batch: status %d, %s", status, stderr)
	}
}

// The command itself: a name server that is not there says nothing of a company.
func TestVerifyCommand(t *testing.T) {
	t.Parallel()
	n := startNode(t, false)
	n.imports(companies, "--batch", "b1")
	if out := n.must("gate-zero", "verify", "--once", "--worker", "w9", "--resolver", "127.0.0.1:1"); out != "verified: 3 API_UNAVAILABLE\n" {
		t.Errorf("verified is %q", out)
	}
	if out := n.must("gate-zero", "verify", "--once", "--json"); strings.TrimSpace(out) != "{}" {
		t.Errorf("with nothing to do it says %q", out)
	}
}
