package ledger_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/ledger"
)

// secrets returns secrets of many kinds, made when the test runs from a prefix and
// filler, so that no line here looks like one. None of them is longer than a name
// may be.
func secrets() []string {
	const lower, upper, digits, hexa = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789", "0123456789abcdef"
	random := rand.New(rand.NewPCG(1, 2))
	filler := func(alphabet string, n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = alphabet[random.IntN(len(alphabet))]
		}
		return string(b)
	}
	alnum := lower + upper + digits
	var list []string
	for range 5 {
		list = append(list,
			"ghp_"+filler(alnum, 36), "github_pat_"+filler(alnum, 22)+"_"+filler(alnum, 59), "glpat-"+filler(alnum, 20),
			"AKIA"+filler(upper+digits, 16), "ASIA"+filler(upper+digits, 16), "AIza"+filler(alnum, 35), "ya29."+filler(alnum, 60),
			"rdb_"+filler(alnum, 32), "dapi"+filler(hexa, 32), "dop_v1_"+filler(hexa, 64), "dckr_pat_"+filler(alnum, 27),
			"gsk_"+filler(alnum, 52), "hf_"+filler(alnum, 34), "lin_api_"+filler(alnum, 40), "key-"+filler(hexa, 32),
			"NRAK-"+filler(upper+digits, 27), "ntn_"+filler(alnum, 46), "npm_"+filler(alnum, 36), "sk-proj-"+filler(alnum, 48),
			"pscale_tkn_"+filler(alnum, 43), "pul-"+filler(hexa, 40), "rubygems_"+filler(hexa, 48), "sbp_"+filler(hexa, 40),
			"SG."+filler(alnum, 22)+"."+filler(alnum, 43), "sntrys_"+filler(alnum, 60), "shpat_"+filler(hexa, 32),
			"xoxb-"+filler(digits, 12)+"-"+filler(digits, 12)+"-"+filler(alnum, 24), "sq0csp-"+filler(alnum, 43),
			"sk_live_"+filler(alnum, 24), "rk_test_"+filler(alnum, 24), "whsec_"+filler(alnum, 32), "hvs."+filler(alnum, 90),
			"eyJ"+filler(alnum, 30)+".eyJ"+filler(alnum, 60)+"."+filler(alnum, 30)+"7",
			"Bearer "+filler(alnum, 30)+"7", "password="+filler(alnum, 12), "client_secret="+filler(alnum, 20),
			"postgres://app:"+filler(alnum, 12)+"@db.internal:5432/recoup", filler(lower, 8)+"."+filler(lower, 5)+"@example.org",
			"AGE-SECRET-KEY-1"+filler(upper+digits, 58), "LTAI"+filler(alnum, 20), "figd_"+filler(alnum, 40),
		)
	}
	return list
}

// TestSecretsAreRefused plants secrets in every identifier, alone and within a
// name: the event is refused, and nothing that comes back repeats them.
func TestSecretsAreRefused(t *testing.T) {
	t.Parallel()
	fields := names()
	fields["code"] = func(in *ledger.Incoming, s string) { in.Code = recoup.Code(s) }
	for _, secret := range secrets() {
		for field, set := range fields {
			for _, text := range []string{secret, "/v1/" + secret, secret + "/x"} {
				in := clean()
				set(&in, text)
				g, _ := newGovernor(t)
				got := govern(g, []ledger.Incoming{in})
				if len(got.Events) > 0 {
					t.Fatalf("%s: %q is kept", field, text)
				}
				answer, err := json.Marshal(got.Refused[0].Err)
				if err != nil {
					t.Fatal(err)
				}
				for _, said := range []string{string(answer), got.Refused[0].Err.Error(), fmt.Sprintf("%+v", got.Refused[0].Err)} {
					if strings.Contains(said, secret) {
						t.Fatalf("%s: %q is repeated in %s", field, text, said)
					}
				}
			}
		}
	}
}

// TestSecretCodes plants secrets that have the form of a code, in the case they
// came in, and those that get their form only when they are folded.
func TestSecretCodes(t *testing.T) {
	t.Parallel()
	codelike := slices.DeleteFunc(secrets(), func(s string) bool {
		_, err := recoup.ParseCode(s)
		return err != nil
	})
	if len(codelike) < 20 {
		t.Fatalf("only %d secrets have the form of a code", len(codelike))
	}
	for _, secret := range codelike {
		if strings.HasPrefix(secret, "AKIA") {
			codelike = append(codelike, strings.ToLower(secret))
		}
	}
	for _, secret := range codelike {
		g, tally := newGovernor(t)
		got := govern(g, []ledger.Incoming{change(func(in *ledger.Incoming) { in.Code = recoup.Code(secret) })})
		if len(got.Events) > 0 || tally.Totals()[ledger.DropSecret] != 1 {
			t.Errorf("%s is kept as %s", secret, got.Events[0].ReportedCode)
		}
	}
}

// TestTenantsAreNotKept looks for the tenant's name in all that is kept.
func TestTenantsAreNotKept(t *testing.T) {
	t.Parallel()
	in := clean()
	in.Tenant = "acme-holding"
	e, _ := accepted(t, in)
	if text := fmt.Sprintf("%+v", e); strings.Contains(text, "acme") || len(e.TenantHash) != 64 {
		t.Errorf("kept %s", text)
	}
}
