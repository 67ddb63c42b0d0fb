package adoption

// Statements returns statements that also read tables of the core, by what they are for. Tests of the
// store look at their plans with tables that have grown.
func Statements() map[string]string {
	return map[string]string{"lanes of a source": selectLanesOf, "parked rows": selectParked, "pairs of dead letters": selectPairsAfter}
}
