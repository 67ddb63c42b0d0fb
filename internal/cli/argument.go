package cli

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"recoup/internal/nearest"
)

// noArgs refuses arguments.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return stray(cmd, args[0])
}

// exactArgs wants the named arguments, no more and no fewer.
func exactArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usagef("%s is missing\nRun '%s --help' for what it takes", names[len(args)], cmd.CommandPath())
		case len(args) > len(names):
			return stray(cmd, args[len(names)])
		}
		return nil
	}
}

// stray refuses a word. Behind a command that holds others it was meant as one
// of them.
func stray(cmd *cobra.Command, word string) error {
	if !cmd.HasSubCommands() {
		return usagef("unexpected argument %q\nRun '%s --help' for what it takes", word, cmd.CommandPath())
	}
	var names []string
	for _, sub := range cmd.Commands() {
		names = append(names, sub.Name())
	}
	hint := ""
	if near := meant(word, names); len(near) > 0 {
		hint = ": did you mean " + near[0] + "?"
	}
	return usagef("unknown command %q for %q%s\nRun '%s --help' for the list", word, cmd.CommandPath(), hint, cmd.CommandPath())
}

// meant returns the names that may have been meant, the nearest first. Two
// mistakes are forgiven in a short one, in a long one a third of its letters.
func meant(word string, names []string) []string {
	return nearest.Words(word, names, max(2, len(word)/3))
}

// oneOf finds the word that a flag gives among those allowed, in upper or lower
// case. Nothing given is nothing found.
func oneOf[S ~string](flag, given string, allowed []S) (S, error) {
	if given == "" {
		return "", nil
	}
	for _, word := range allowed {
		if strings.EqualFold(given, string(word)) {
			return word, nil
		}
	}
	return "", usagef("unknown %s %q: expected one of %s", flag, given, join(allowed))
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

// either adds a flag that may be set, set to false, or left open.
func either(flags *pflag.FlagSet, at **bool, name, usage string) {
	flags.VarPF(eitherValue{at}, name, "", usage).NoOptDefVal = "true"
}

type eitherValue struct{ at **bool }

func (v eitherValue) String() string { return "" }
func (v eitherValue) Type() string   { return "bool" }

func (v eitherValue) Set(s string) error {
	is, err := strconv.ParseBool(s)
	if err == nil {
		*v.at = &is
	}
	return err
}
