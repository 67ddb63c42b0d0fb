package policy

import "encoding/json"

// Block is a block of the policy, filled in, as text.
func (p *Policy) Block(name string) string {
	b, _ := json.Marshal(p.doc.root.(map[string]any)[name])
	return string(b)
}
