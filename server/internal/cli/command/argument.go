package command

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/recoup-dev/recoup/server/internal/suggest"
)

// NoArgs refuses arguments.
func NoArgs(cmd *cobra.Command, args []string) error { return ExactArgs()(cmd, args) }

// ExactArgs wants the named arguments, no more and no fewer.
func ExactArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return missing(cmd, names[len(args)])
		}
		return AtMost(len(names))(cmd, args)
	}
}

// AtMost takes up to n arguments.
func AtMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return Stray(cmd, args[n])
		}
		return nil
	}
}

// SomeArgs wants the named arguments, and takes more of the last.
func SomeArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return missing(cmd, names[len(args)])
		}
		return nil
	}
}

func missing(cmd *cobra.Command, name string) error {
	return Usagef("%s is missing\nRun '%s --help' for usage", name, cmd.CommandPath())
}

// Stray refuses a word. Behind a command that holds others it was meant as one
// of them.
func Stray(cmd *cobra.Command, word string) error {
	if !cmd.HasSubCommands() {
		return Usagef("unexpected argument %q\nRun '%s --help' for usage", word, cmd.CommandPath())
	}
	var names []string
	for _, sub := range cmd.Commands() {
		names = append(names, sub.Name())
	}
	hint := ""
	if near := Meant(word, names); len(near) > 0 {
		hint = ": did you mean " + near[0] + "?"
	}
	return Usagef("unknown command %q for %q%s\nRun '%s --help' for the list", word, cmd.CommandPath(), hint, cmd.CommandPath())
}

// Meant returns the names that may have been meant, the nearest first. Two
// mistakes are forgiven in a short one, in a long one a third of its letters.
func Meant(word string, names []string) []string {
	return suggest.Words(word, names, max(2, len(word)/3))
}

// OneOf finds the word that a flag gives among those allowed, in upper or lower
// case. Nothing given is nothing found.
func OneOf[S ~string](flag, given string, allowed []S) (S, error) {
	if given == "" {
		return "", nil
	}
	for _, word := range allowed {
		if strings.EqualFold(given, string(word)) {
			return word, nil
		}
	}
	return "", Usagef("unknown %s %q: expected one of %s", flag, given, Join(allowed))
}

// Within refuses a flag whose number is out of bounds.
func Within(flag string, given, least, most int) error {
	if given < least || given > most {
		return Usagef("--%s is %d: expected a number from %d to %d", flag, given, least, most)
	}
	return nil
}

// Join writes words as a list.
func Join[S ~string](words []S) string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	return strings.Join(list, ", ")
}

// Either adds a flag that may be set, set to false, or left open.
func Either(flags *pflag.FlagSet, at **bool, name, usage string) {
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
