package cli

import (
	"cmp"
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"recoup"
	"recoup/fault"
)

func codesCommand(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "codes",
		Short: "Look up error codes: what they mean and what to do",
		Long: `Every failure carries a code. It says what went wrong, whether trying again can help,
and what a person can do.`,
		Example: `  recoup codes list
  recoup codes show NETWORK_TIMEOUT`,
		Args: noArgs,
		RunE: group,
	}
	cmd.AddCommand(codesList(streams), codesShow(streams), codesExport(streams))
	return cmd
}

func codesList(streams Streams) *cobra.Command {
	var ask filters
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the registered codes",
		Example: `  recoup codes list --class conditional
  recoup codes list --domain rate --json`,
		Args: noArgs,
	}
	cmd.Flags().StringVar(&ask.domain, "domain", "", "only this `DOMAIN`: "+join(fault.Domains()))
	cmd.Flags().StringVar(&ask.class, "class", "", "only this `CLASS`: "+join(recoup.Classes()))
	cmd.Flags().StringVar(&ask.category, "category", "", "only this `CATEGORY`: "+join(recoup.Categories()))
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(*cobra.Command, []string) error {
		defs, err := ask.codes()
		switch {
		case err != nil:
			return err
		case asJSON:
			shown := make([]codeShown, len(defs))
			for i, d := range defs {
				shown[i] = codeShown{d, d.Retryable(false)}
			}
			return printJSON(streams.Out, shown)
		}
		return printCodes(streams, defs)
	}
	return cmd
}

// codeShown is a code as the API shows it.
type codeShown struct {
	*fault.Definition
	Retryable bool `json:"retryable"`
}

// retryable answers whether trying again can help, in a word.
func retryable(d *fault.Definition) string {
	switch {
	case d.Retryable(false):
		return "yes"
	case d.Retryable(true):
		return "depends"
	}
	return "no"
}

// filters choose codes; an empty one lets all through.
type filters struct{ domain, class, category string }

func (f filters) codes() ([]*fault.Definition, error) {
	domain, noDomain := oneOf("domain", f.domain, fault.Domains())
	class, noClass := oneOf("class", f.class, recoup.Classes())
	category, noCategory := oneOf("category", f.category, recoup.Categories())
	if err := cmp.Or(noDomain, noClass, noCategory); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(fault.Default().All(), func(d *fault.Definition) bool {
		return domain != "" && d.Domain != domain || class != "" && d.Class != class || category != "" && d.Category != category
	}), nil
}

func printCodes(streams Streams, defs []*fault.Definition) error {
	if len(defs) == 0 {
		fmt.Fprintln(streams.Err, "No code matches.")
		return nil
	}
	t := tabwriter.NewWriter(streams.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "CODE\tDOMAIN\tRETRYABLE\tRETRY\tCATEGORY\tHTTP")
	for _, d := range defs {
		retry := string(d.Class)
		if d.Class == recoup.ClassConditional {
			retry = fmt.Sprintf("%s if %s", d.Proven, d.Condition)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%d\n", d.Code, d.Domain, retryable(d), retry, d.Category, d.HTTPStatus)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	codes := "codes"
	if len(defs) == 1 {
		codes = "code"
	}
	fmt.Fprintf(streams.Err, "\n%d %s. 'recoup codes show CODE' explains one.\n", len(defs), codes)
	return nil
}

func codesShow(streams Streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show CODE",
		Short: "Explain one code: meaning, causes, way out",
		Long: `Explains one code: what it means, whether to try again, what causes it and what to do.
Upper and lower case are the same, and other names of a code lead to it.`,
		Example: `  recoup codes show NETWORK_TIMEOUT
  recoup codes show rate_limited --json`,
		Args: exactArgs("CODE"),
	}
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		asked, err := recoup.ParseCode(args[0])
		if err != nil {
			return usageError{err}
		}
		def, ok := fault.Default().Lookup(asked)
		if !ok {
			return unknownCode(asked)
		}
		switch {
		case asked != def.Code:
			fmt.Fprintf(streams.Err, "%s is an alias of %s.\n\n", asked, def.Code)
		case args[0] != string(asked):
			fmt.Fprintf(streams.Err, "%s is written %s.\n\n", args[0], asked)
		}
		if asJSON {
			return printJSON(streams.Out, codeShown{def, def.Retryable(false)})
		}
		return manual(streams.Out, def)
	}
	return cmd
}

// unknownCode names up to three registered codes that the asker may have meant.
func unknownCode(asked recoup.Code) error {
	near := nearCodes(string(asked))
	if len(near) == 0 {
		return fmt.Errorf("no code %s is registered\n'recoup codes list' shows those that are", asked)
	}
	return fmt.Errorf("no code %s is registered\nThe nearest: %s", asked, join(near[:min(3, len(near))]))
}

// nearCodes returns the codes that are near, the nearest first. A code is as
// near as the nearest of its names.
func nearCodes(asked string) []recoup.Code {
	var names []string
	code := map[string]recoup.Code{}
	for _, d := range fault.Default().All() {
		for _, name := range append([]recoup.Code{d.Code}, d.Aliases...) {
			names = append(names, string(name))
			code[string(name)] = d.Code
		}
	}
	var near []recoup.Code
	for _, name := range meant(asked, names) {
		if !slices.Contains(near, code[name]) {
			near = append(near, code[name])
		}
	}
	return near
}
