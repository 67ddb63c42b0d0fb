// Package config reads settings from flags, the environment and a configuration file. It
// contains no setting: each part of a program contributes its own as [Setting] values and
// finds what they are set to in the [Values].
package config

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// Setting is something that can be set: by a flag, by the environment, or in
// the configuration file, in this order.
type Setting struct {
	Name    string // of the flag and in the file
	Env     string
	Default string
	Help    string

	After string // the setting that this one follows in lists, among those that parts of a program add; empty: it comes last

	Secret     bool // the value is a URL that may have a password, which is not shown
	SecretFile bool // the value names a file that other users must not read
	Switch     bool // the flag needs no value: --standby means --standby=true

	// Read receives the value and returns what is wrong with it. Nil: every value is allowed.
	Read func(value string) error
}

// Field is something that a thing in a section of the file has to have, or may.
type Field struct {
	Name     string
	Required bool
	Secret   bool
	Help     string
}

// Kind is a kind of things in a section of the file, by its fields.
type Kind struct {
	Name   string
	Noun   string // what receivers of the kind are sent
	Fields []Field
}

// Value is what a setting is set to, and where that came from.
type Value struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"` // default, the file, the environment variable, or the flag

	Hidden bool `json:"-"` // nothing of the value is shown

	secret     bool // a password in the value is not shown
	secretFile bool
}

// Values are what all settings are set to, in the order of the settings.
type Values []Value

// Get returns the value of a setting; empty: there is no such setting, or it is set to nothing.
func (v Values) Get(name string) string {
	for _, value := range v {
		if value.Name == name {
			return value.Value
		}
	}
	return ""
}

// Masked returns the values as they may be shown: without passwords.
func (v Values) Masked() Values {
	shown := slices.Clone(v)
	for i := range shown {
		switch {
		case shown[i].Hidden:
			shown[i].Value = "***"
		case shown[i].secret:
			shown[i].Value = MaskURL(shown[i].Value)
		}
	}
	return shown
}

// HasSecrets reports whether one of the values came from a source and has a secret.
func (v Values) HasSecrets(source string) bool {
	return slices.ContainsFunc(v, func(v Value) bool {
		return v.Source == source && (v.Hidden || v.secret && MaskURL(v.Value) != v.Value)
	})
}

// Sources are where values come from.
type Sources struct {
	Flags map[string]string // those that were given, by the name of the setting
	Env   func(string) (string, bool)
	File  string // empty: there is none

	inFile map[string]any
}

// ReadFile reads the configuration file.
func (s *Sources) ReadFile() error {
	if s.File == "" {
		return nil
	}
	data, err := os.ReadFile(s.File)
	if err != nil {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	if err := yaml.Unmarshal(data, &s.inFile); err != nil {
		return fmt.Errorf("%s is not YAML of the form NAME: VALUE: %w", s.File, errors.New(yaml.FormatError(err, false, false)))
	}
	return nil
}

// TakeSection returns a part of the file that is no setting, and takes it out of the file.
func (s *Sources) TakeSection(name string) any {
	section := s.inFile[name]
	delete(s.inFile, name)
	return section
}

// Values reads all settings: flags win over the environment, which wins over the file.
// It returns everything that is wrong at once, also names in the file that no setting has.
func (s *Sources) Values(settings []Setting) (values Values, bad []error) {
	inFile := map[string]string{}
	for name, value := range s.inFile {
		inFile[strings.ReplaceAll(name, "_", "-")] = fmt.Sprint(value)
	}
	for _, setting := range settings {
		v := Value{Name: setting.Name, Value: setting.Default, Source: "default", secret: setting.Secret, secretFile: setting.SecretFile}
		if given, ok := inFile[setting.Name]; ok {
			v.Value, v.Source = given, s.File
			delete(inFile, setting.Name)
		}
		if given, ok := s.Env(setting.Env); ok {
			v.Value, v.Source = given, setting.Env
		}
		if given, ok := s.Flags[setting.Name]; ok {
			v.Value, v.Source = given, "--"+setting.Name
		}
		if setting.Read != nil {
			if err := setting.Read(v.Value); err != nil {
				bad = append(bad, fmt.Errorf("%s (from %s): %w", v.Name, v.Source, err))
			}
		}
		values = append(values, v)
	}
	for name := range inFile {
		bad = append(bad, fmt.Errorf("%s: there is no setting %q", s.File, name))
	}
	return values, bad
}
