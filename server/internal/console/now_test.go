package console_test

import "testing"

// TestNowDrawsTheDay proves that the first page shows what failed by the hour, as a drawing
// and as a table of the same figures.
func TestNowDrawsTheDay(t *testing.T) {
	t.Parallel()
	n, _ := start(t)
	v := visit(t, n)
	v.signIn(n.Key)
	v.get("").has(t, "Failures by the hour", "2 reported", "1 parked", `class="reported"`, `class="visually-hidden"><table><caption>Failures by the hour</caption>`)
}
