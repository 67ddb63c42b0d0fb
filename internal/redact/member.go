package redact

import (
	"strings"
	"sync"
)

// One member of an object may name a secret, and another one hold it:
//
//	{"field": "password", "rejectedValue": "X"}
//	{"Name": "/prod/db", "Type": "SecureString", "Value": "X"}
//
// What follows reads objects in braces, in YAML and in XML.

// role is what a member of an object says.
type role int

const (
	namesValue role = 1 + iota // the name of what another member holds
	pathOfName                 // the same, or the path of a request
	holdsValue                 // a value
	holdsAll                   // an object whose members are secrets if the kind says so; a text is a value
	typesValue                 // the type of the value, or where it is kept
	kindOfAll                  // the kind of the object
)

// memberRoles has the roles by the names of members, in lower case and without separators.
var memberRoles = func() map[string]role {
	roles := map[string]role{}
	for r, words := range map[role]string{
		namesValue: "name key field fieldname param parameter parametername parameterkey property propertyname propertypath loc instancepath datapath variable variablename attribute attributename column columnname setting settingname envvar keyname",
		pathOfName: "path",
		holdsValue: "value input inputvalue rejectedvalue attemptedvalue invalidvalue parametervalue currentvalue newvalue oldvalue actualvalue defaultvalue stringvalue plaintext received",
		holdsAll:   "data stringdata",
		typesValue: "type id",
		kindOfAll:  "kind",
	} {
		for word := range strings.FieldsSeq(words) {
			roles[word] = r
		}
	}
	return roles
}()

// roleOf returns the role of a member, or 0.
func roleOf(name string) role {
	const longest = 24
	if len(name) > longest {
		return 0
	}
	var plain [longest]byte
	n := 0
	for i := range len(name) {
		if b := name[i]; strings.IndexByte("_-. ", b) < 0 {
			plain[n] = fold(b)
			n++
		}
	}
	return memberRoles[string(plain[:n])]
}

// secretFamilies are the rules that find secrets by their names, and a gate for these.
var secretFamilies = sync.OnceValue(func() (named struct {
	rules []rule
	gate  *gate
}) {
	for _, f := range append(families(), tellingNames(families())) {
		if f.name == "password" || f.name == "secret" || f.name == "authorization" || f.name == "cookie" {
			named.rules = append(named.rules, f.rule())
		}
	}
	named.gate = newGate(named.rules)
	return named
})

// secretWord returns the last part of a name that a secret may have, or "".
func secretWord(name string) string {
	const longest = 128
	name = strings.TrimRight(name, "]'\"`")
	if name == "" || len(name) > longest || strings.ContainsAny(name, " \t\n") || secretFamilies().gate.scan(name).empty() {
		return ""
	}
	return name
}

// secretUnder reports whether a value is a secret under a name.
func secretUnder(name, value string) bool {
	if value == "" || masked(value) || strings.HasPrefix(value, opening) || strings.HasPrefix(value, "{{") {
		return false
	}
	if several := strings.HasSuffix(name, "s"); several && digitsOnly.MatchString(value) {
		return false
	}
	named := secretFamilies()
	for i := range named.gate.scan(name).all {
		if named.rules[i].key(name, value) {
			return true
		}
	}
	return strings.Contains(name, "account.key.") && keyBytes(value)
}

// holder is an object that is read.
type holder struct {
	name   string   // of the secret that one of its members names, or ""
	marked bool     // its type is that of a secret
	all    bool     // it is a Secret of Kubernetes
	held   []extent // the values of its members that hold one
	data   []extent // the values in its member data
	role   role     // of the member of another object that it is
	opens  byte     // the bracket that it opens with, or 0
}

// maxHeld is how many values of an object are kept.
const maxHeld = 256

// member adds a member of an object.
func (h *holder) member(r role, s string, v extent) {
	value := s[v.from:v.to]
	switch {
	case r == namesValue || r == pathOfName && !routed(value):
		if h.name == "" {
			h.name = secretWord(value)
		}
	case r == typesValue:
		h.marked = h.marked || value == "SecureString" || strings.Contains(value, ".vault.azure.net/secrets/")
	case r == kindOfAll:
		h.all = h.all || value == "Secret"
	case (r == holdsValue || r == holdsAll) && len(h.held) < maxHeld && v.from < v.to:
		h.held = append(h.held, v)
	}
	if h.role == holdsAll && len(h.data) < maxHeld && v.from < v.to {
		h.data = append(h.data, v)
	}
}

// routed reports whether a path is that of a request: /oauth/token.
func routed(path string) bool { return strings.HasPrefix(path, "/") || strings.Contains(path, "://") }

// close adds the secrets of an object that has been read.
func (h *holder) close(s string, f finding) finding {
	for _, v := range h.held {
		value := s[v.from:v.to]
		if (h.marked && !masked(value) || h.name != "" && secretUnder(h.name, value)) && (h.opens != 0 || looksSecret(value)) && !strings.HasPrefix(value, opening) && !typeWords[value] {
			f.add(v.from, v.to)
		}
	}
	return f
}

// closeAll adds the values in the data of a Secret of Kubernetes.
func (h *holder) closeAll(s string, f finding) finding {
	for _, v := range h.data {
		if value := s[v.from:v.to]; h.all && !masked(value) && !strings.HasPrefix(value, opening) {
			f.add(v.from, v.to)
		}
	}
	return f
}

// looksSecret reports whether a value looks like a secret without its name.
func looksSecret(v string) bool { return !plainShape(v) && (chosenWord(v) || scrambled(v)) }

// memberRules are the rules that read objects.
func memberRules() []rule {
	return []rule{
		{
			name: "secret", of: "member", multiline: true, find: findMembers, refuses: assigned,
			gate: []string{`value"`, `value'`, `value\`, "value=", "value =", "value: ", `"input`, "'input'", "input=", `"data"`, `"data\`, "'data'", " data: ", `{data: `, `stringdata"`, `stringdata\`, `plaintext"`, `received"`, `received\`},
		},
		{
			name: "secret", of: "indented member", multiline: true, find: findIndented, refuses: assigned,
			gate: []string{"value: ", "value:\n", "kind: secret", "passwords:", "secrets:", "tokens:", "api_keys:", "apikeys:", "api-keys:", "passphrases:", "credentials:"},
		},
		{name: "secret", of: "tagged member", gate: []string{"<value", "<string>", "value>"}, multiline: true, find: findTagged, refuses: assigned},
	}
}
