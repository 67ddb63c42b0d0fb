package endtoend

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/internal/redact/redacttest"
)

// slot is a place for text in a request.
type slot struct {
	call
	method, route string
	in            string   // path, query, header or body
	at            []string // the parameter's name, or where in the body
}

// name is the field's: the last step that is a name.
func (s *slot) name() string {
	for _, step := range slices.Backward(s.at) {
		if step != item && step != member && step != naming {
			return step
		}
	}
	return ""
}

// where says which place it is, for people.
func (s *slot) where() string {
	return s.method + " " + s.route + ", " + s.in + " " + strings.Join(s.at, ".")
}

// slots lists the places for text in every operation.
func (c *caller) slots() []slot {
	var doc document
	if err := json.Unmarshal(c.send(http.MethodGet, "/openapi.json", nil, nil).body, &doc); err != nil {
		c.Fatal(err)
	}
	var all []slot
	for path, operations := range doc.Paths {
		for method, o := range operations {
			method = strings.ToUpper(method)
			known, ok := calls()[method+" "+path]
			if !ok {
				known = []call{{}}
			}
			for _, one := range known {
				all = append(all, c.slotsOf(&doc, slot{call: one, method: method, route: path}, o)...)
			}
		}
	}
	for _, stray := range []string{"/{any}", "/v1/{any}", "/errors/{any}"} { // where nothing is
		all = append(all, slot{method: http.MethodGet, route: stray, in: "path", at: []string{"any"}})
	}
	all = append(all, slot{method: http.MethodGet, route: "/v1/errors", in: "header", at: []string{"Authorization"}})
	slices.SortFunc(all, func(a, b slot) int {
		return strings.Compare(a.method+a.route+a.body+strings.Join(a.at, " "), b.method+b.route+b.body+strings.Join(b.at, " "))
	})
	return all
}

// slotsOf lists the places of one call, after it has succeeded as it is.
func (c *caller) slotsOf(doc *document, s slot, o operation) []slot {
	if got := c.send(c.request(s, "", "")); got.status >= 300 && !(s.none && got.status == http.StatusNotFound) {
		c.Errorf("%s %s does not succeed, so nothing can be planted in it; the table of calls must say how: %s", s.method, s.route, got.body)
		return nil
	}
	var all []slot
	add := func(in string, at ...string) {
		s.in, s.at = in, at
		all = append(all, s)
	}
	for _, p := range o.Parameters {
		if p.Schema.is("string") {
			add(p.In, p.Name)
		}
	}
	for _, body := range o.Body.Content {
		for _, at := range doc.paths(body.Schema, nil) {
			if len(at) > 0 { // else it is text as a whole, as a CSV file, whose rows are read like the others
				add("body", at...)
			}
		}
		add("body", naming) // a member that nobody knows
	}
	add("query", naming)
	switch s.method + " " + s.route { // what requests say of themselves is treated alike everywhere
	case "POST /v1/errors":
		add("header", "X-Request-Id")
		add("header", "User-Agent")
	case "POST /v1/events":
		add("header", "X-Recoup-Service")
		add("header", "X-Recoup-Region")
	}
	return all
}

// request fills in the call of a slot and plants text in it. Members of free
// names are called name.
func (c *caller) request(s slot, name, text string) (method, path string, header http.Header, body []byte) {
	values := map[string]string{}
	if s.needs != nil {
		values = s.needs(c)
	}
	filled := c.filled(s.path+"\x00"+s.body, values) // one {n} for both
	given, content, _ := strings.Cut(filled, "\x00")
	named, _ := url.ParseQuery(given)
	for key := range named {
		values[key] = named.Get(key)
	}
	query, _ := url.ParseQuery(s.query)
	header = http.Header{}
	switch s.in {
	case "path":
		values[s.at[0]] = text
	case "query":
		if s.at[0] == naming {
			query.Set(text, "x")
			break
		}
		query.Set(s.at[0], text)
	case "header":
		header.Set(s.at[0], text)
	case "body":
		var decoded any
		if err := json.Unmarshal([]byte(content), &decoded); err != nil {
			c.Fatalf("%s: %v", content, err)
		}
		encoded, err := json.Marshal(plant(decoded, s.at, name, text))
		if err != nil {
			c.Fatal(err)
		}
		content = string(encoded)
	}
	path = s.route
	for key, value := range values {
		path = strings.ReplaceAll(path, "{"+key+"}", url.PathEscape(value))
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return s.method, path, header, []byte(content)
}

// texts are the fields that people write freely: there, whatever is found is
// replaced. Everywhere else stand names, and a name may be the address of a
// machine.
var texts = []string{"message", "reason", "description", "causes", "resolution", "details", "headers", "body", "text", "tenant"}

func (s *slot) free() bool { return slices.Contains(texts, s.name()) && s.at[len(s.at)-1] != naming }

// takes reports whether a secret can be sent through the slot at all, and must
// not be taken there.
func (s *slot) takes(secret redacttest.Sample) bool {
	if s.in == "header" && strings.ContainsFunc(secret.Text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return false
	}
	if s.name() == "text" && strings.HasPrefix(secret.Rule, "ipv") {
		return false // a policy may name a machine
	}
	if s.name() == "code" { // what is none is not looked at
		_, err := recoup.ParseCode(secret.Text)
		return err == nil
	}
	return secret.Refusable() || s.free()
}

// forms are the texts in which a secret goes through a slot.
func (s *slot) forms(sample redacttest.Sample) []string {
	secret := sample.Text
	switch s.name() {
	case "text": // a policy
		var base struct{ Text string }
		_ = json.Unmarshal([]byte(s.body), &base)
		quoted, _ := json.Marshal(secret)
		return []string{
			base.Text + "\n# " + strings.ReplaceAll(secret, "\n", "\n# ") + "\n",
			strings.Replace(base.Text, `"Passing trouble`, string(quoted[:len(quoted)-1])+" Passing trouble", 1),
			"version: 9\n" + secret,
		}
	case "message", "reason":
		return []string{"it failed with " + secret + ", and again", secret}
	case "code": // codes are kept in upper case, in which base 64 says something else
		if sample.Hidden() {
			break
		}
		return []string{secret, strings.ToLower(secret)}
	case "Authorization":
		return []string{"Bearer " + secret, secret}
	case "X-Request-Id":
		return []string{"req_" + secret}
	}
	return []string{secret}
}

// redacts reports whether text of the slot is cleaned and taken.
func (s *slot) redacts() bool {
	act := strings.HasPrefix(s.route, "/v1/errors") || strings.HasPrefix(s.route, "/v1/retries")
	return s.in == "body" && act && (s.name() == "message" || s.name() == "reason")
}

// refuses reports whether the slot is for a name that is kept.
func (s *slot) refuses() bool {
	names := []string{"table", "entity_id", "service", "region", "external_service", "worker", "tables", "phase", "name", "hubs", "aliases"}
	kept := s.in == "body" && s.at[len(s.at)-1] != naming && slices.Contains(names, s.name()) && !slices.Contains(s.at, "filter")
	return kept || s.in == "path" && s.name() == "entity" || s.in == "header" && s.name() == "X-Recoup-Region"
}
