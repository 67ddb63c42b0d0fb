package command

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
)

// The forms of output.
const (
	asText  = "text"  // for people
	asTable = "table" // a list for people
	asWide  = "wide"  // a table with all its columns, however narrow the terminal is
	asJSON  = "json"
	asYAML  = "yaml"
	asCSV   = "csv" // of lists
)

// Output is the form in which a command prints what it found.
type Output struct {
	format string
	json   bool
}

// Forms are the forms of output that a command has, the first by default.
type Forms []string

// The forms of one thing, and those of a list.
var (
	One  = Forms{asText, asJSON, asYAML}
	Many = Forms{asTable, asWide, asJSON, asYAML, asCSV}
)

// Flags adds the flags that choose the form. A command without forms has --json
// alone, beside a flag of its own.
func (o *Output) Flags(cmd *cobra.Command, forms Forms) {
	short := "short for -o json"
	if len(forms) > 0 {
		cmd.Flags().StringVarP(&o.format, "output", "o", "", "output `FORMAT`: "+Join(forms)+" (default "+forms[0]+")")
	} else {
		forms, short = Forms{asJSON}, "print JSON"
	}
	cmd.Flags().BoolVar(&o.json, "json", false, short)
	check := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if o.json && o.format != "" && o.format != asJSON {
			return Usagef("--json and -o %s are given: expected one of the two", o.format)
		}
		if o.json {
			o.format = asJSON
		}
		var err error
		if o.format, err = OneOf("output format", o.format, forms); err != nil || check == nil {
			return err
		}
		return check(cmd, args)
	}
}

// JSON reports whether --json or -o json is given.
func (o *Output) JSON() bool { return o.format == asJSON }

// Machine reports whether a program reads what is printed.
func (o *Output) Machine() bool { return slices.Contains([]string{asJSON, asYAML, asCSV}, o.format) }

// print writes a value for programs.
func (o *Output) print(s Streams, v any) error {
	if o.format != asYAML {
		return PrintJSON(s.Out, v)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if data, err = toYAML(data); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "%s", data)
	return err
}
