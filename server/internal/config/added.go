package config

import (
	"fmt"
	"slices"
)

// Added is what parts of a program add to its configuration.
type Added struct {
	Settings  []Setting
	Receivers []Kind // of deliveries; these are the fields beside those of every receiver

	// Checks say what is wrong with settings that do not go together.
	Checks []func(Values) error
}

// In puts the added settings among others: each behind the one that it follows, else at
// the end.
func (a Added) In(settings []Setting) []Setting {
	list := slices.Clone(settings)
	for _, s := range a.Settings {
		at := len(list)
		if s.After != "" {
			at = slices.IndexFunc(list, func(other Setting) bool { return other.Name == s.After }) + 1
		}
		if at == 0 && s.After != "" { // a mistake of the program
			panic(fmt.Sprintf("config: the setting %s follows %s, which is no setting", s.Name, s.After))
		}
		list = slices.Insert(list, at, s)
	}
	return list
}

// Check says what is wrong with settings that do not go together, everything at once.
func (a Added) Check(values Values) (bad []error) {
	for _, check := range a.Checks {
		if err := check(values); err != nil {
			bad = append(bad, err)
		}
	}
	return bad
}

// SecretFiles are the files with secrets that settings name.
func (v Values) SecretFiles() (list []string) {
	for _, value := range v {
		if value.secretFile && value.Value != "" {
			list = append(list, value.Value)
		}
	}
	return list
}
