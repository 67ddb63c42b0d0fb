package proof

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/recoup-dev/recoup"
)

// checkCodes looks up every code that the policy names. Errors carry the
// registered name, so an alias in the policy would never be met.
func (c *checker) checkCodes() {
	for i, condition := range c.policy.Conditions {
		c.checkCodeList(condition.Codes, "parking", "conditions", strconv.Itoa(i), "codes")
	}
	for _, h := range c.policy.Hubs {
		for i, f := range h.Overrides.Families {
			c.checkCodeList(f.Codes, "hubs", h.ID, "overrides", "auto_park", strconv.Itoa(i), "codes")
		}
	}
	for _, code := range slices.Sorted(maps.Keys(c.policy.Requests)) {
		c.checkCode(code, "requests", "codes", string(code))
	}
	for _, reason := range c.policy.Gate.Reasons {
		c.checkCode(recoup.Code(reason.Name), "gate", "reasons", reason.Name)
	}
}

func (c *checker) checkCodeList(codes []recoup.Code, at ...string) {
	for i, code := range codes {
		c.checkCode(code, append(slices.Clone(at), strconv.Itoa(i))...)
	}
}

func (c *checker) checkCode(code recoup.Code, at ...string) {
	def, known := c.registry.Lookup(code)
	switch {
	case !known:
		c.refute(unknownCode, at, fmt.Sprintf("the code %s is not registered: no failure will ever carry it", code), 1, nil)
	case def.Code != code:
		c.refute(unknownCode, at, fmt.Sprintf("the code %s is an alias: failures carry %s instead", code, def.Code), 1, nil)
	}
}
