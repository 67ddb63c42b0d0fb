package cli

import (
	"fmt"
	"strings"

	"recoup"
	"recoup/client"
)

// show tells what became of many errors. What was done before a failure is told
// before the failure is.
func (a *actRequest) show(s *session, o outcome) error {
	if o.err != nil {
		if o.Applied > 0 && !o.Preview {
			fmt.Fprintf(s.Err, "%s %s before it failed:\n", count(o.Applied, "error"), a.past)
		}
		return o.err
	}
	if s.json {
		if err := printJSON(s.Out, o.BulkResult); err != nil {
			return err
		}
	} else {
		a.tell(s, o.BulkResult)
	}
	if o.NotDone > 0 && !o.Preview {
		return errSilent
	}
	return nil
}

// tell says how many were done and why others were not. A preview that is
// followed by the act itself is a message and not yet a result.
func (a *actRequest) tell(s *session, r client.BulkResult) {
	w := s.Out
	verb, left := a.past, "were not"
	if r.Preview {
		verb, left = "would be "+verb, "would not be"
		if !a.dryRun {
			w = s.Err
		}
	}
	if r.Matched == 0 {
		fmt.Fprintln(s.Err, "No error matches.")
		return
	}
	fmt.Fprintf(w, "%d of %s %s.\n", r.Applied, count(r.Matched, "error"), verb)
	if r.NotDone == 0 {
		return
	}
	fmt.Fprintf(s.Err, "%d %s:\n%s", r.NotDone, left, refusals(s.Streams, r))
}

// refusals lists why errors were left alone, with some of those for each reason.
func refusals(s Streams, r client.BulkResult) *table {
	ids := map[string][]recoup.ID{}
	var reasons []string
	for _, refused := range r.Refused {
		if len(ids[refused.Reason]) == 0 {
			reasons = append(reasons, refused.Reason)
		}
		ids[refused.Reason] = append(ids[refused.Reason], refused.ID)
	}
	t := newTable(s, "ERRORS", "WHY", "WHICH")
	for _, reason := range reasons {
		t.add(fmt.Sprint(len(ids[reason])), reason, someIDs(ids[reason], len(ids[reason])))
	}
	if rest := r.NotDone - len(r.Refused); rest > 0 {
		t.add(fmt.Sprint(rest), "not listed", "")
	}
	return t
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
