package recoup

// ErrorGroupFilter selects groups of errors. All fields that are set must match.
type ErrorGroupFilter struct {
	Table string     `query:"table" doc:"only this error table"`
	Hub   string     `query:"hub" doc:"only tables of this hub"`
	Code  string     `query:"code" doc:"only this code"`
	State State      `query:"state" enum:"ACTIVE,RETRY_PENDING,PARKED,ESCALATED,RESOLVED" doc:"only groups with an error in this state"`
	Sort  GroupOrder `query:"sort" enum:"open,seen" doc:"open: those first of which most is open (the default); seen: those first that were seen last"`
}

// ErrorGroupPage is a page of groups of errors.
type ErrorGroupPage struct {
	Groups []ErrorGroup `json:"groups" doc:"this page of the list"`
	Next   string       `json:"next,omitempty" doc:"the cursor of the next page; none: this is the last"`
}
