package main

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"github.com/recoup-dev/recoup/fault"
)

// filings stands in for the register that employers' numbers come from, and for
// its bad days: it does not answer at once for every company, and for some it has
// no number that fits.
type filings struct {
	mu    sync.Mutex
	asked map[string]int
}

func newFilings() *filings { return &filings{asked: map[string]int{}} }

// number returns a company's number. Its failures carry codes of the registry, as
// those of package fault's classifiers do.
func (f *filings) number(_ context.Context, company string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked[company]++
	_, last, _ := strings.Cut(company[max(0, len(company)-5):], "-")
	n, _ := strconv.Atoi(last)
	switch {
	case n%5 == 0:
		return "", fault.New(fault.CodeValidationError, "The filing has no employer number.")
	case n%3 == 0 && f.asked[company] == 1:
		return "", fault.New(fault.CodeNetworkTimeout, "The register did not answer within 30 s.")
	}
	return "12-" + last, nil
}
