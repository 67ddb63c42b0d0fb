package console

import (
	"slices"
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// codesPage is the registry, and how often each code is met.
type codesPage struct {
	Domains []codeDomain
	Unknown []recoup.CodeCount // used in 24 hours, and not registered
	N       int64
	Text    string // that was looked for
}

// codeDomain is the codes that are about the same thing.
type codeDomain struct {
	Name  string
	Codes []usedCode
}

// usedCode is a code and how often it was seen in 24 hours.
type usedCode struct {
	fault.Definition
	Seen int64
}

func viewCodes(v *Request) (any, error) {
	var defs []fault.Definition
	var top recoup.TopCodes
	err := together(
		func() (err error) { defs, err = v.client.Codes.List(v.ctx()); return err },
		func() (err error) { top, err = v.client.Events.TopCodes(v.ctx(), 24, 1000); return v.optional(err) },
	)
	if err != nil {
		return nil, err
	}
	p := codesPage{Text: strings.TrimSpace(v.r.URL.Query().Get("text"))}
	seen := map[recoup.Code]int64{}
	for _, c := range top.Codes {
		seen[c.Code] = c.Count
		if !slices.ContainsFunc(defs, func(d fault.Definition) bool { return d.Code == c.Code || slices.Contains(d.Aliases, c.Code) }) {
			p.Unknown = append(p.Unknown, c)
		}
	}
	for i := range defs {
		if d := &defs[i]; matches(d, p.Text) {
			p.add(usedCode{*d, seen[d.Code]})
			p.N++
		}
	}
	return p, nil
}

// matches reports whether a code is one that was looked for.
func matches(d *fault.Definition, text string) bool {
	return strings.Contains(strings.ToLower(string(d.Code)+" "+d.Description), strings.ToLower(text))
}

// add puts a code to those that are about the same.
func (p *codesPage) add(c usedCode) {
	i := slices.IndexFunc(p.Domains, func(d codeDomain) bool { return d.Name == c.Domain })
	if i < 0 {
		i, p.Domains = len(p.Domains), append(p.Domains, codeDomain{Name: c.Domain})
	}
	p.Domains[i].Codes = append(p.Domains[i].Codes, c)
}
