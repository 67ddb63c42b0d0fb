package doctor

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// The commands that fix more than one thing.
const (
	FixHere    = `recoup doctor --fix --database "$RECOUP_DATABASE"`
	fixMigrate = `recoup migrate up --database "$RECOUP_DATABASE"`
)

// SQLCommand is the command that runs statements in a database.
func SQLCommand(f *store.Facts, statements ...string) string {
	text := shell(strings.Join(statements, "; "))
	if f.File != nil {
		return "sqlite3 " + shell(f.File.Path) + " " + text
	}
	return `psql "$RECOUP_DATABASE" -c ` + text
}

// shell quotes a word for a shell.
func shell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// plainWord matches a word that no shell changes.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:-]+$`)

// literal quotes a string for SQL.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// Word is a name as a word of a command: names of other people's tables and columns can be
// anything.
func Word(name string) string {
	if plainWord.MatchString(name) {
		return name
	}
	return shell(name)
}

// count writes a number with its noun.
func count[N ~int | ~int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// size writes a size.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.0f MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d kB", n>>10)
}

// span writes how long something has been.
func span(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d hours", d/time.Hour)
	case d >= 2*time.Minute:
		return fmt.Sprintf("%d minutes", d/time.Minute)
	}
	return fmt.Sprintf("%d seconds", d/time.Second)
}
