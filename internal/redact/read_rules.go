package redact

import "slices"

// readRules finds secrets by what stands around them: the function that takes them, the object that
// they are a member of, and the sentences of parsers and validators.
func readRules() []rule {
	return slices.Concat([]rule{callRule()}, memberRules(), parsedRules(), parsedValueRules(), hostRules(), pathRules(), configRules())
}
