package endtoend

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/test/program"
)

// imported is what recoup gate-zero import --json prints.
type imported struct {
	Rows, Added, Present, Refused int
	Lines                         []struct {
		Line   int
		Reason string
	} `json:"refused_lines"`
	Complete bool
}

// companies is a file of n rows, with a record over two lines at every seam that a
// piece could have, a blank line, and two rows that are no candidates.
func companies(n int, mended bool) string {
	var b strings.Builder
	b.WriteString("company_name,domain,size\n\n")
	for i := range n {
		switch {
		case i == 2500 && !mended:
			b.WriteString(",nameless.example,1\n")
		case i == n-1 && !mended:
			b.WriteString("\"" + strings.Repeat("x", 17<<10) + "\",,1\n")
		case i%500 == 499:
			fmt.Fprintf(&b, "\"Company, %d\",c%d.example,\"1\n2\"\n", i, i)
		default:
			fmt.Fprintf(&b, "Company %d,c%d.example,1\n", i, i)
		}
	}
	return b.String()
}

// A file goes to the server as it is, is parsed there, and is answered with its own
// lines. An import that the network has broken is run again, and goes on.
func TestImportStreams(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		n := startNode(t, d)
		back, err := url.Parse(n.URL)
		if err != nil {
			t.Fatal(err)
		}
		proxy, sent, lost := httputil.NewSingleHostReverseProxy(back), 0, true
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/import") {
				if sent++; sent > 1 && lost { // the first piece arrives, and then nothing
					w.WriteHeader(http.StatusBadRequest)
					return
				}
			}
			proxy.ServeHTTP(w, r)
		}))
		defer server.Close()
		file := filepath.Join(t.TempDir(), "companies.csv")
		run := func(text string) (sum imported, said string, err error) {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), program.Path(t), "gate-zero", "import", file, "--batch", "b1", "--complete", "--json", "--server", server.URL)
			cmd.Env = append(os.Environ(), "RECOUP_KEY="+n.Key)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if len(out) > 0 && json.Unmarshal(out, &sum) != nil {
				t.Fatalf("printed %s", out)
			}
			return sum, stderr.String(), err
		}
		const rows = 4500
		if sum, said, err := run(companies(rows, false)); err == nil || !strings.Contains(said, "2000 rows imported before it failed; run it again to continue.") {
			t.Errorf("a lost connection: %+v, %v, %s", sum, err, said)
		}
		lost = false
		sum, said, err := run(companies(rows, false))
		if err == nil || sum.Rows != rows || sum.Added != rows-2002 || sum.Present != 2000 || sum.Refused != 2 || sum.Complete {
			t.Errorf("run again: %+v, %v, %s", sum, err, said)
		}
		for i, want := range []string{":2508: company_name is required\n", ":4510: the row is longer than 16384 bytes\n"} {
			if len(sum.Lines) != 2 || !strings.Contains(said, file+want) || !strings.Contains(want, fmt.Sprint(sum.Lines[i].Line)) {
				t.Errorf("%s is not said: %s", want, said)
			}
		}
		if sum, said, err := run(companies(rows, true)); err != nil || sum.Added != 2 || sum.Present != rows-2 || !sum.Complete {
			t.Errorf("mended: %+v, %v, %s", sum, err, said)
		}
	})
}
