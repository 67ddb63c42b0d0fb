package policy

import (
	"encoding/json"
	"testing"

	"github.com/recoup-dev/recoup/fault"
)

// Block is a block of the policy, filled in, as text.
func (p *Policy) Block(name string) string {
	b, _ := json.Marshal(p.doc.root.(map[string]any)[name])
	return string(b)
}

// Whole is the default policy with the keys that it leaves out.
func Whole(t *testing.T) *Policy {
	t.Helper()
	return loaded(t, wholePolicy(t))
}

// ChangedKey is a policy in which one key has another value, and the test that shows its effect if it
// cannot be seen without a node. A value that is refused has no policy.
type ChangedKey struct {
	Policy *Policy
	Shown  string
}

// ChangedKeys returns a policy for every key of the policy file.
func ChangedKeys(t *testing.T) map[string]ChangedKey {
	t.Helper()
	all := map[string]ChangedKey{}
	for key, row := range keyRows() {
		changed := ChangedKey{Shown: row.shown}
		if row.refused == "" {
			doc := wholePolicy(t)
			put(t, doc.root, row.at, row.value)
			changed.Policy = loaded(t, doc)
		}
		all[key] = changed
	}
	return all
}

func loaded(t *testing.T, doc *document) *Policy {
	t.Helper()
	text, _ := json.Marshal(doc.root)
	p, err := Load("policy", text, fault.Default())
	if err != nil {
		t.Fatal(err)
	}
	return p
}
