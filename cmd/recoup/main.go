// Command recoup is the server, the console and the command line of Recoup.
package main

import (
	"os"

	"golang.org/x/term"

	"recoup/internal/cli"
)

func main() {
	os.Exit(cli.Run(os.Args[1:], cli.Streams{
		In:       os.Stdin,
		Out:      os.Stdout,
		Err:      os.Stderr,
		Terminal: term.IsTerminal(int(os.Stderr.Fd())),
	}))
}
