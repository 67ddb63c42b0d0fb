package policy

import (
	_ "embed" // default.yaml
	"sync"

	"github.com/recoup-dev/recoup/fault"
)

//go:embed default.yaml
var defaultFile []byte

// DefaultName is what problems and explanations call the embedded policy.
const DefaultName = "default.yaml"

var loadDefault = sync.OnceValue(func() *Policy {
	p, err := Load(DefaultName, defaultFile, fault.Default())
	if err != nil {
		panic("policy: the embedded default is broken: " + err.Error())
	}
	return p
})

// Default returns the embedded policy, which is spec 000 as data.
func Default() *Policy { return loadDefault() }

// DefaultFile returns the text of the embedded policy.
func DefaultFile() []byte { return append([]byte(nil), defaultFile...) }

// Load reads and checks a policy file. name is what problems call the file. The
// codes it names must be registered in codes, or in its own block of codes, where a code
// that was registered before means what the file says; nil accepts every code.
//
// The error is a [*LoadError] that lists every problem found.
func Load(name string, data []byte, codes *fault.Registry) (*Policy, error) {
	doc, found := readDocument(data)
	if doc.root == nil {
		return nil, found.err(name)
	}
	doc.open()
	found = append(found, doc.checkStructure()...)
	doc.fill()
	var f file
	if err := doc.decode(&f); err != nil {
		found.add(start, "not readable as a policy: %v", err)
		return nil, found.err(name)
	}
	f.namedHubs()
	checked := check(doc, &f, codes)
	if err := append(found, checked.problems...).err(name); err != nil {
		return nil, err
	}
	p := compile(doc, &f)
	p.text, p.Codes, p.registry = string(data), checked.own, p.WithRequests(checked.registry)
	return p, nil
}
