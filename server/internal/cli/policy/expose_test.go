package policy

// What the tests look into.
type (
	View            = policyView
	QuestionView    = questionView
	ExplanationView = explanationView
)

var Seconds = seconds
