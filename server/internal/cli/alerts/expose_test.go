package alerts

// What the tests look into.
type TrialReport = trialReport

var Row = row
