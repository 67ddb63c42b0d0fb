package recoup

// ActName names an act of a person on errors, one or many.
type ActName string

// The acts.
const (
	ActPark     ActName = "park"
	ActUnpark   ActName = "unpark"
	ActResolve  ActName = "resolve"
	ActEscalate ActName = "escalate"
	ActArchive  ActName = "archive"
	ActAssign   ActName = "assign"
	ActReview   ActName = "review"
)

// ActKind describes an act: its name, its past participle, and what is said with it.
type ActKind struct {
	Name   ActName
	Past   string // parked
	Reason bool   // a reason is required
	Owner  bool   // a new owner is required: Act.To
	Tier   bool   // a tier can be chosen: Act.Tier
}

// Acts returns every act. Routes, commands, buttons, exits and inputs are made of this list.
func Acts() []ActKind {
	return []ActKind{
		{Name: ActPark, Past: "parked", Reason: true},
		{Name: ActUnpark, Past: "unparked", Reason: true},
		{Name: ActResolve, Past: "resolved", Reason: true},
		{Name: ActEscalate, Past: "escalated", Reason: true, Tier: true},
		{Name: ActArchive, Past: "archived", Reason: true},
		{Name: ActAssign, Past: "assigned", Owner: true},
		{Name: ActReview, Past: "reviewed"},
	}
}

// Kind returns the description of an act; zero for a name that is none.
func (n ActName) Kind() ActKind {
	for _, kind := range Acts() {
		if kind.Name == n {
			return kind
		}
	}
	return ActKind{}
}

// ActResult is the answer to an act.
type ActResult struct {
	Error    Error  `json:"error,omitzero" doc:"left out of an answer to Prefer: return=minimal"`
	Warning  string `json:"warning,omitempty" doc:"something the caller may not expect"`
	Repeated bool   `json:"repeated,omitempty" doc:"the same request was answered before"`
}

// BulkAct is one act on named errors. An act on what a filter selects is a [NewOperation].
type BulkAct struct {
	Act
	IDs     []ID   `json:"ids,omitempty" maxItems:"10000" doc:"which errors"`
	Token   string `json:"token,omitempty" maxLength:"400000" doc:"of a preview: its errors are meant, as they were; instead of ids"`
	Preview bool   `json:"preview,omitempty" doc:"say what would happen, and do nothing"`
}
