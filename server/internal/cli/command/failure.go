package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// serverError is a server's refusal, or the lack of a server.
type serverError struct {
	server string
	about  subject
	said   *fault.Error
	err    error
}

func (e *serverError) Error() string { return e.err.Error() }

func (e *serverError) Unwrap() error { return e.err }

// unreachable reports whether err means that nobody answers at an address.
func unreachable(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// Print says what went wrong, why, under which request id, and the way out.
func (e *serverError) Print(s Streams) {
	if unreachable(e.err) {
		var op *net.OpError
		_ = errors.As(e.err, &op) // it is one
		fmt.Fprintf(s.Err, "%s: no server answers at %s: %v\n", s.ProgramName(), e.server, op.Err)
		fmt.Fprintln(s.Err, "'recoup demo' starts one with sample data, 'recoup serve' one that keeps its data.\n"+
			"--server URL or $RECOUP_SERVER names one elsewhere.")
		return
	}
	fmt.Fprintf(s.Err, "%s: %s: %s\n", s.ProgramName(), e.said.Code, Printable(e.said.Message))
	p := Page{Width: s.Width}
	if gate, ok := gateOf(e.said); ok {
		p.Table(GateTable(s, gate))
	}
	rows := append(e.why(), e.tlsCause()...)
	if e.said.RequestID != "" {
		rows = append(rows, []string{"request", Printable(e.said.RequestID)})
	}
	for _, way := range e.ways() {
		rows = append(rows, []string{"way out", way})
	}
	p.Columns(rows...)
	fmt.Fprint(s.Err, p.String())
}

// helpful are the details that a person can use, in the order they are printed.
var helpful = []string{
	"state", "exits", "superseded_by", "role", "required_roles", "hubs", "expired_at",
	"matched", "expected", "limit", "window_sec", "line", "existing_id",
}

// why lists bad fields, one a line, and the details that help.
func (e *serverError) why() [][]string {
	var rows [][]string
	for _, f := range e.said.Fields() {
		rows = append(rows, []string{Printable(f.Field), Printable(f.Message)})
	}
	for _, name := range helpful {
		if value, ok := e.said.Details[name]; ok {
			rows = append(rows, []string{Words(name), Printable(detail(value))})
		}
	}
	return rows
}

// detail writes a value as people do.
func detail(v any) string {
	list, ok := v.([]any)
	if !ok {
		return fmt.Sprint(v)
	}
	var texts []string
	for _, item := range list {
		texts = append(texts, fmt.Sprint(item))
	}
	return strings.Join(texts, ", ")
}

// gateOf returns the gate that a refused promotion came to.
func gateOf(e *fault.Error) (recoup.PromotionStatus, bool) {
	var gate recoup.PromotionStatus
	data, err := json.Marshal(e.Details)
	ok := e.Code == fault.CodePromotionBlocked && err == nil && json.Unmarshal(data, &gate) == nil
	return gate, ok && len(gate.Blockers) > 0
}

// ways says what to do about the way to the server, or about what the server says.
func (e *serverError) ways() []string {
	if e.said.Code == fault.CodeTLSError {
		return e.tlsWays()
	}
	return wayOut(e.said, e.about)
}

// wayOut says what to do: in terms of this command line where it knows better,
// else as the registry does.
func wayOut(e *fault.Error, about subject) []string {
	var ways []string
	switch e.Code {
	case fault.CodeInvalidAPIKey:
		ways = []string{"Set $RECOUP_KEY. 'recoup keys create --role operator --name YOU' creates a key, on the host that has the database."}
	case fault.CodeAPIKeyExpired:
		ways = []string{"Ask an administrator for a new key: 'recoup keys rotate ID' or 'recoup keys create' creates one."}
	case fault.CodeInsufficientPermissions:
		if e.Details["standby"] != true { // then the message says what to do, and no key helps
			ways = []string{"Ask an administrator for a key whose role and hubs allow this."}
		}
	case fault.CodeInvalidTransition:
		ways = []string{nextStep(e, about)}
	case fault.CodeNotFound:
		ways = found(e, about)
	case fault.CodePromotionBlocked:
		ways = []string{"Resolve the blocking errors, or wait. 'recoup errors explain ERROR' explains each."}
	case fault.CodeDuplicateRecord:
		ways = []string{"Change the version in the policy file and try again."}
	case fault.CodeValidationError:
		ways = []string{"Correct the fields above and try again."}
	default:
		ways = registered(e)
	}
	if e.RetryAfter > 0 {
		ways = append(ways, "Try again in "+policy.FormatDuration(e.RetryAfter)+".")
	}
	return ways
}

// registered is the way out of the registry. It says of a conflict which thing is
// in the way, which not every one has.
func registered(e *fault.Error) []string {
	var ways []string
	if _, named := e.Details["existing_id"]; named || e.Code != fault.CodeConflict {
		ways = slices.Clone(e.Definition().Resolution[:min(1, len(e.Definition().Resolution))])
	}
	return append(ways, fmt.Sprintf("'recoup codes show %s' explains the code.", e.Definition().Code))
}

// found says where things of the kind are that was not found.
func found(e *fault.Error, about subject) []string {
	list := about.list()
	switch {
	case about.about("channels"):
		return []string{"'recoup config show', run on the server's host, lists its channels."}
	case list == "" || about.about("errors"):
		return registered(e) // it may be in the archive
	}
	return []string{"'" + list + "' lists what there is."}
}

// nextStep says what comes before an act that was refused, or instead of it.
func nextStep(e *fault.Error, about subject) string {
	step, _ := e.Details["missing_step"].(string)
	replay, _ := e.Details["replay_id"].(string)
	exits, _ := e.Details["exits"].([]any)
	switch {
	case about.state != "":
		return about.state
	case replay != "":
		return fmt.Sprintf("'recoup replays show %s' shows the progress of its replay.", Printable(replay))
	case step != "":
		return fmt.Sprintf("First: 'recoup dead-letters %s %s'.", Printable(step), about.id())
	case about.about("dead-letters") && len(exits) == 1:
		return fmt.Sprintf("Next: 'recoup dead-letters %s %s'.", Printable(fmt.Sprint(exits[0])), about.id())
	case about.about("dead-letters"), about.about("replays"):
		return fmt.Sprintf("'%s show %s' shows its state.", strings.Join(strings.Fields(about.command)[:2], " "), about.id())
	}
	return fmt.Sprintf("Choose one of its exits. 'recoup errors explain %s' shows what happens next.", about.id())
}

// GateTable lists what blocks an entity, whose turn it is and until when.
func GateTable(s Streams, g recoup.PromotionStatus) *Table {
	t := NewTable(s, Column{Name: "ERROR"}, Column{Name: "TABLE", Drop: 3}, Column{Name: "CODE"}, Column{Name: "STATE", State: true}, Column{Name: "OWNER", Drop: 1},
		Column{Name: "SINCE", Drop: 4}, Column{Name: "RETRY", Drop: 2}, Column{Name: "ENDS"})
	for _, b := range g.Blockers {
		if b.Unread { // it is no error yet
			t.Add("", b.Table, "", "UNREAD", b.Owner, Since(b.Since), At(b.NextRetryAt), "in a second")
			continue
		}
		t.Add(b.ErrorID, b.Table, b.Code, blockerState(&b), b.Owner, Since(b.Since), At(b.NextRetryAt), At(b.EndsAt).Or("by hand"))
	}
	return t
}

// blockerState says how a blocker stands, and whether it is a dead letter: that one does not
// end by a retry.
func blockerState(b *recoup.Blocker) string {
	if b.DeadLetter {
		return strings.TrimSpace(string(b.State) + " dead letter")
	}
	return string(b.State)
}

// Refused is a line of a file that was refused.
type Refused struct {
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

// Reason is a failure in one line.
func Reason(e *fault.Error) string {
	for _, f := range e.Fields() {
		return f.Message
	}
	return e.Message
}

// NoteRefused lists refused lines of a file, of total at most so many.
func (s *Session) NoteRefused(file string, lines []Refused, total, most int) {
	lines = lines[:min(len(lines), most)]
	for _, l := range lines {
		s.Notef("%s:%d: %s", file, l.Line, Printable(l.Reason))
	}
	if rest := total - len(lines); rest > 0 {
		s.Notef("and %d more.", rest)
	}
}
