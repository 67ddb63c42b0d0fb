package recoup

// NewOperation asks for an act on all errors that a filter selects now. Nothing is done
// until the operation is confirmed.
type NewOperation struct {
	Act    ActName     `json:"act" enum:"park,unpark,resolve,escalate,archive,assign,review" doc:"what to do with each error"`
	Filter ErrorFilter `json:"filter,omitzero" doc:"which errors"`
	All    bool        `json:"all,omitempty" doc:"an empty filter is meant"`
	Input  Act         `json:"input,omitzero" doc:"what is said with the act; what is left out can be said with the confirmation"`
}

// FrozenOperation is an operation whose members are fixed, with the first of them.
type FrozenOperation struct {
	Operation
	Sample []OperationItem `json:"sample" doc:"the first of its members"`
}

// OperationPage is a page of operations, newest first.
type OperationPage struct {
	Operations []Operation `json:"operations" doc:"this page of the list"`
	Next       string      `json:"next,omitempty" doc:"the cursor of the next page; none: this is the last"`
}

// OperationItems is a page of members, in the order of their positions. Next is the
// position from which the list goes on; zero: it has ended.
type OperationItems struct {
	Items []OperationItem `json:"items" doc:"members, in their order"`
	Next  int             `json:"next,omitempty" doc:"the position at which the next page begins; none: this is the last"`
}

// OperationAct is a reason to pause, resume or cancel an operation.
type OperationAct struct {
	Reason string `json:"reason" maxLength:"1000" doc:"why"`
}
