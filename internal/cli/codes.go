package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"recoup"
	"recoup/fault"
)

func codesCommand(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "codes",
		Short: "Look up error codes: what they mean and what to do",
		Args:  noArgs,
		RunE:  group,
	}
	cmd.AddCommand(codesList(streams), codesShow(streams), codesExport(streams))
	return cmd
}

func codesList(streams Streams) *cobra.Command {
	var domain, class, category string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the registered codes",
		Example: `  recoup codes list --class conditional
  recoup codes list --domain rate --json`,
		Args: noArgs,
	}
	cmd.Flags().StringVar(&domain, "domain", "", "only this domain: "+strings.Join(fault.Domains(), ", "))
	cmd.Flags().StringVar(&class, "class", "", "only this class: "+join(recoup.Classes()))
	cmd.Flags().StringVar(&category, "category", "", "only this category: "+join(recoup.Categories()))
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the definitions as JSON")
	cmd.RunE = func(*cobra.Command, []string) error {
		class, category := recoup.Class(strings.ToLower(class)), recoup.Category(strings.ToUpper(category))
		if err := checkFilters(domain, class, category); err != nil {
			return err
		}
		defs := slices.DeleteFunc(fault.Default().All(), func(d *fault.Definition) bool {
			return domain != "" && d.Domain != domain || class != "" && d.Class != class || category != "" && d.Category != category
		})
		if asJSON {
			return printJSON(streams.Out, defs)
		}
		return printCodes(streams, defs)
	}
	return cmd
}

func checkFilters(domain string, class recoup.Class, category recoup.Category) error {
	switch {
	case domain != "" && !slices.Contains(fault.Domains(), domain):
		return usagef("unknown domain %q: expected one of %s", domain, strings.Join(fault.Domains(), ", "))
	case class != "" && !class.Valid():
		return usagef("unknown class %q: expected one of %s", class, join(recoup.Classes()))
	case category != "" && !category.Valid():
		return usagef("unknown category %q: expected one of %s", category, join(recoup.Categories()))
	}
	return nil
}

func printCodes(streams Streams, defs []*fault.Definition) error {
	if len(defs) == 0 {
		fmt.Fprintln(streams.Err, "No code matches.")
		return nil
	}
	t := tabwriter.NewWriter(streams.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "CODE\tDOMAIN\tRETRY\tCATEGORY\tHTTP")
	for _, d := range defs {
		retry := string(d.Class)
		if d.Class == recoup.ClassConditional {
			retry = fmt.Sprintf("%s if %s", d.Proven, d.Condition)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\n", d.Code, d.Domain, retry, d.Category, d.HTTPStatus)
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
		Use:     "show CODE",
		Short:   "Explain one code: meaning, causes, way out",
		Example: "  recoup codes show rate_limited",
		Args:    exactArgs("CODE"),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the definition as JSON")
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
			return printJSON(streams.Out, def)
		}
		return manual(streams.Out, def)
	}
	return cmd
}

// unknownCode names the registered codes that the asker may have meant.
func unknownCode(asked recoup.Code) error {
	near := nearest(string(asked), fault.Default().All())
	if len(near) == 0 {
		return fmt.Errorf("no code %s is registered\n'recoup codes list' shows those that are", asked)
	}
	return fmt.Errorf("no code %s is registered\nThe nearest: %s", asked, strings.Join(near, ", "))
}

// nearest returns up to three codes, the most similar first. A code is as near
// as the nearest of its names.
func nearest(asked string, defs []*fault.Definition) []string {
	distance := make(map[recoup.Code]int)
	var near []string
	for _, d := range defs {
		best := editDistance(asked, string(d.Code))
		for _, alias := range d.Aliases {
			best = min(best, editDistance(asked, string(alias)))
		}
		if best <= max(2, len(asked)/3) {
			distance[d.Code] = best
			near = append(near, string(d.Code))
		}
	}
	slices.SortStableFunc(near, func(a, b string) int {
		return distance[recoup.Code(a)] - distance[recoup.Code(b)]
	})
	return near[:min(3, len(near))]
}

// editDistance is Levenshtein's, how many letters to insert, delete or change,
// but for the end of b: leaving it out costs one, however long it is, because
// people type the beginning of a name.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return min(row[len(b)], slices.Min(row)+1)
}

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func join[S ~string](words []S) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(w))
	}
	return b.String()
}
