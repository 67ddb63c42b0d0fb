// Command generate writes what the clients in other languages know of the API: the
// types of the OpenAPI document as TypeScript. It reads the document from the routes
// themselves, so it needs no server.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/recoup-dev/recoup/server/internal/api"
	"github.com/recoup-dev/recoup/server/internal/slices"
)

//go:generate go run github.com/recoup-dev/recoup/server/cmd/generate ../../../clients/typescript/src/api_gen.ts
//go:generate go run github.com/recoup-dev/recoup/server/cmd/recoup codes export --format ts --output ../../../clients/typescript/src/codes_gen.ts

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 || strings.HasPrefix(args[0], "-") {
		return fmt.Errorf("expected the file to write as the only argument, got %q", args)
	}
	document, err := api.Document("", slices.Routes(slices.All())...)
	if err != nil {
		return err
	}
	script, err := typeScript(document)
	if err != nil {
		return err
	}
	return os.WriteFile(args[0], script, 0o644)
}
