// Command recoup-bench measures a server of Recoup under a mixed load at a fixed rate.
package main

import (
	"context"
	"os"

	"golang.org/x/term"

	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/test/benchcli"
)

func main() {
	os.Exit(benchcli.Run(context.Background(), os.Args[1:], command.Streams{
		In:          os.Stdin,
		Out:         os.Stdout,
		Err:         os.Stderr,
		Terminal:    term.IsTerminal(int(os.Stderr.Fd())),
		Interactive: term.IsTerminal(int(os.Stdin.Fd())),
		Width:       width(os.Stdout),
	}))
}

// width is how many columns a terminal has; 0: it is none.
func width(f *os.File) int {
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
}
