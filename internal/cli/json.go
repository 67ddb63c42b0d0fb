package cli

import (
	"encoding/json"
	"io"

	"github.com/spf13/cobra"
)

// jsonFlag adds the flag by which every command prints for machines.
func jsonFlag(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", false, "print JSON for scripts instead of text")
}

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
