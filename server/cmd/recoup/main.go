// Command recoup is the server, the console and the command line of Recoup.
package main

import (
	"context"
	"os"

	"golang.org/x/term"

	"github.com/recoup-dev/recoup/server/internal/cli"
)

func main() {
	os.Exit(cli.Run(context.Background(), os.Args[1:], cli.Streams{
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
