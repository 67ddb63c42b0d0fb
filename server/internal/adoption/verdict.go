package adoption

// source is how a row of a source is.
type source int

const (
	gone     source = iota // it is not there any more
	resting                // it is there and no failure, by the owner's conditions
	failing                // it is a failure
	underway               // it is the job of a queue, and is being worked at
)

// memory is how the mapped columns of a row are, compared with those of the last look.
type memory int

const (
	unknown memory = 1 << iota // the row was never a failure when somebody looked
	same
	changed
	raised  // only its severity has changed, and is worse than that of its error
	lowered // only its severity has changed, and is not worse
	blank   // the row was no failure at the last look, and one before
)

// The row is known, and known to have failed since somebody looked.
const (
	known  = same | changed | raised | lowered | blank
	failed = changed | raised | blank
)

// standing is the error that a row has.
type standing int

const (
	none      standing = 1 << iota
	open               // about the same entity as the row is now
	other              // open, about another
	elsewhere          // open, in another table than the policy has for it
	trying             // open, and leased for the attempt for which the row's job was set off
	ended              // resolved or archived, by whomever
	letter             // open, and a dead letter about the same entity (decision 0086)
	replaying          // such a one that is part of a replay, and whose job waits for it
	replayed           // whose replay has worked, and which waits to be verified
)

// pairing is what becomes of the pair of row and error.
type pairing int

const (
	keep   pairing = iota
	note           // the columns as they are now
	empty          // that the row is no failure
	watch          // that it is under way, and is to be looked at until it is not
	forget         // all of it
)

// result is what an attempt has come to.
type result int

const (
	unknownYet result = iota
	going             // it needs its lease
	succeeded
	unsuccessful
)

// reporting is what is reported of a row. Every report writes down the pair.
type reporting int

const (
	silent reporting = iota
	anew             // a failure without an earlier one
	repeat           // a further failure, which replaces the open error
	amend            // the same failure, which is worse than the open error says
)

// verdict is what follows. An old error is resolved before a new one is reported.
type verdict struct {
	resolve string // why; empty: not
	report  reporting
	attempt result // of an error that is trying
	pair    pairing
}

// The reasons for which a source resolves its errors.
const (
	becauseGone    = "the source row was deleted"
	becauseResting = "the source row is no failure any more"
	becauseOther   = "the source row is about something else now"
	becauseMoved   = "the source row is governed in another table now"
	becauseDone    = "the job is done"
)

// rules is decision 0076's table, with those of decisions 0085 and 0086. A situation that no rule has cannot be.
var rules = []struct {
	source   source
	memory   memory
	standing standing
	verdict
}{
	{gone, unknown, none, verdict{}},
	{gone, known, trying, verdict{attempt: succeeded, pair: forget}},
	{gone, known, open | other | elsewhere | letter, verdict{resolve: becauseGone, pair: forget}},
	{gone, known, ended | replayed, verdict{pair: forget}},

	{resting, unknown, none, verdict{}},
	{resting, known, trying, verdict{attempt: succeeded, pair: empty}},
	{resting, known, open | other | elsewhere | letter, verdict{resolve: becauseResting, pair: empty}},
	{resting, known &^ blank, ended | replayed, verdict{pair: empty}},
	{resting, blank, ended | replayed, verdict{}},

	{underway, unknown, none, verdict{}},
	{underway, known, trying, verdict{attempt: going}},
	{underway, known, open | other | elsewhere | letter, verdict{pair: watch}},
	{underway, known &^ blank, ended | replayed, verdict{pair: empty}},
	{underway, blank, ended | replayed, verdict{}},

	{failing, unknown, none, verdict{report: anew}},
	{failing, known, trying, verdict{attempt: unsuccessful, pair: note}},
	{failing, same, open | other | ended | letter | replayed, verdict{}}, // what a person or the clock has ended stays ended
	{failing, known, elsewhere, verdict{resolve: becauseMoved, report: anew}},
	{failing, changed | blank, open, verdict{report: repeat}},
	{failing, raised, open, verdict{report: amend}},
	{failing, lowered, open | other | ended | letter | replayed, verdict{pair: note}}, // no repeat opens the gate
	{failing, failed, letter, verdict{pair: note}},
	{failing, failed, other, verdict{resolve: becauseOther, report: anew}},
	{failing, failed, ended | replayed, verdict{report: anew}}, // it has failed again

	// Whatever the job is by now: the replay looks when it sets it off.
	{gone, known, replaying, verdict{}},
	{resting, known, replaying, verdict{}},
	{underway, known, replaying, verdict{}},
	{failing, known, replaying, verdict{}},
}

// decide returns what follows from how a row is, how it was and which error it has.
func decide(s source, m memory, e standing) verdict {
	for _, r := range rules {
		if r.source == s && r.memory&m != 0 && r.standing&e != 0 {
			return r.verdict
		}
	}
	return verdict{}
}
