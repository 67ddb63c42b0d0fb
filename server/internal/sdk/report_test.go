package sdk

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/recoup-dev/recoup"
)

// scripts/shape sets RECOUP_SHAPE_REPORTS and compares the coverage of two runs, to find what
// one report passes through.
func TestWayOfAReport(t *testing.T) {
	reports := 2
	if set := os.Getenv("RECOUP_SHAPE_REPORTS"); set != "" {
		var err error
		if reports, err = strconv.Atoi(set); err != nil {
			t.Fatal(err)
		}
	}
	n := startNode(t)
	for i := range reports {
		must(n.Report(t.Context(), recoup.Report{Table: table, EntityID: fmt.Sprintf("CO-%d", i), Code: "NETWORK_TIMEOUT", Message: "no answer"}))(t)
	}
	if stored := count(n.Errors.All(t.Context(), recoup.ErrorFilter{Table: table})); stored != reports {
		t.Errorf("%d of %d reports are stored", stored, reports)
	}
}
