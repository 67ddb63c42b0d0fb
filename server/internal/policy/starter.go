package policy

import (
	"bytes"
	"cmp"
	_ "embed" // starter.tmpl
	"fmt"
	"regexp"
	"strings"
	"text/template"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

//go:embed starter.tmpl
var starterText string

var starter = template.Must(template.New("starter.tmpl").Funcs(template.FuncMap{"text": text}).Parse(starterText))

// notText are the words that YAML reads as something else than text.
var notText = regexp.MustCompile(`^([0-9.]+|true|false|null|yes|no|on|off|y|n)$`)

// text writes a word so that YAML reads it as text.
func text(s string) string {
	if notText.MatchString(s) {
		return `"` + s + `"`
	}
	return s
}

// Start is what somebody says who begins with a domain of their own.
type Start struct {
	File    string // what the policy will be called
	Table   string // where failures are reported
	Team    string // who owns them; empty: the schema's name
	Entity  string // the column that names what they hold up; empty: nothing
	Channel string // where owners are notified; empty: the log
}

// Hub is the hub that owns the table, after its schema.
func (s Start) Hub() string {
	schema, _, _ := strings.Cut(s.Table, ".")
	return strings.Trim(strings.ReplaceAll(schema, "_", "-"), "-")
}

// Code is a code to begin with, after the entity.
func (s Start) Code() recoup.Code {
	thing := strings.TrimSuffix(cmp.Or(s.Entity, "work"), "_id")
	return recoup.Code(strings.ToUpper(thing) + "_REFUSED")
}

// answers are the forms of what somebody says, with an example of each.
var answers = []struct {
	what, such string
	form       *regexp.Regexp
	of         func(Start) string
}{
	{"table", "a table with its schema such as payments.capture_errors", regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}\.[a-z][a-z0-9_]{0,62}$`), func(s Start) string { return s.Table }},
	{"team", "a name such as payments-team", regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9 ._&@/-]{0,98}[A-Za-z0-9])?$`), func(s Start) string { return s.Team }},
	{"entity", "a column in lower case such as order_id, or nothing", regexp.MustCompile(`^([a-z][a-z0-9_]{0,50})?$`), func(s Start) string { return s.Entity }},
	{"channel", "log, or the name of a channel in lower case such as payments-chat", regexp.MustCompile(`^([a-z][a-z0-9-]{0,62})?$`), func(s Start) string { return s.Channel }},
}

// Check says which answer cannot be used, and what would be right.
func (s Start) Check() error {
	for _, a := range answers {
		if given := a.of(s); !a.form.MatchString(given) {
			return fmt.Errorf("%q is no %s: expected %s", given, a.what, a.such)
		}
	}
	return nil
}

// Starter writes a policy to begin with.
func Starter(s Start) ([]byte, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	s.File = cmp.Or(s.File, "policy.yaml")
	s.Team = cmp.Or(s.Team, s.Hub()+"-team")
	s.Channel = cmp.Or(s.Channel, "log")
	var b bytes.Buffer
	if err := starter.Execute(&b, s); err != nil {
		return nil, err
	}
	if _, err := Load(s.File, b.Bytes(), fault.Default()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
