package lifecycle_test

import (
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
)

// The input of an act keeps what the act takes, and nothing else.
func TestNewAct(t *testing.T) {
	said := recoup.Act{Reason: "why", To: "ada", Tier: 2}
	for _, kind := range recoup.Acts() {
		in := lifecycle.NewAct(kind.Name, "bob", said)
		if in == nil {
			t.Errorf("%s has no input", kind.Name)
			continue
		}
		want := recoup.Act{Reason: said.Reason}
		if kind.Owner {
			want.To = said.To
		}
		if kind.Tier {
			want.Tier = said.Tier
		}
		if name, got := in.Act(); name != kind.Name || got != want {
			t.Errorf("%s: %s %+v, want %+v", kind.Name, name, got, want)
		}
	}
	if in := lifecycle.NewAct("report", "bob", said); in != nil {
		t.Errorf("report: %#v", in)
	}
}
