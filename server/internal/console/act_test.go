package console_test

import (
	"slices"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/console"
)

// Pages offer every act once.
func TestOfferedActs(t *testing.T) {
	offered := console.Offered()
	for _, kind := range recoup.Acts() {
		if !slices.Contains(offered, kind.Name) {
			t.Errorf("%s is not offered", kind.Name)
		}
	}
	if len(offered) != len(recoup.Acts()) {
		t.Errorf("offered: %q", offered)
	}
}
