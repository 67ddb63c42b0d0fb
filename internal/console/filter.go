package console

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"recoup"
	"recoup/client"
	"recoup/fault"
)

// A list is narrowed by tokens, such as state:PARKED. They are parameters of the address, so
// that a list can be kept, sent and come back to; what is typed becomes one of them.

// token is a part of a filter that is shown, and can be taken away.
type token struct {
	Key, Value string
	Without    string // the address without it
}

// filterKeys are what lists of errors can be narrowed by, as they are typed, and the
// parameters that they are.
func filterKeys() []string {
	return []string{"state", "table", "hub", "code", "entity", "owner", "tier", "parked", "blocking", "older", "newer", "group"}
}

// typed turns what was typed into the address of the list that is meant. What has no key is
// an entity: that is what people have in their hands.
func typed(q url.Values, text string) url.Values {
	for word := range strings.FieldsSeq(text) {
		key, value, ok := strings.Cut(word, ":")
		if !ok || !slices.Contains(filterKeys(), key) {
			key, value = "entity", word
		}
		if key == "state" {
			value = strings.ToUpper(value)
		}
		if value != "" {
			q.Set(key, value)
		}
	}
	q.Del("q")
	q.Del("cursor")
	return q
}

// tokens are the parts of an address's filter.
func tokens(page string, q url.Values) []token {
	var list []token
	for _, key := range filterKeys() {
		if value := q.Get(key); value != "" {
			rest := url.Values{}
			for k, v := range q {
				if k != key && k != "cursor" && k != "done" && k != "n" {
					rest[k] = v
				}
			}
			list = append(list, token{key, value, address(page, rest)})
		}
	}
	return list
}

// address is a page with its parameters.
func address(page string, q url.Values) string {
	if len(q) == 0 {
		return page
	}
	return page + "?" + q.Encode()
}

// filter reads the filter of an address. All that is wrong with it is said at once.
func filter(q url.Values, now time.Time) (client.Filter, error) {
	var wrong fault.FieldErrors
	f := client.Filter{
		Table: q.Get("table"), Hub: q.Get("hub"), State: recoup.State(q.Get("state")), EntityID: q.Get("entity"),
		Code: q.Get("code"), AssignedTo: q.Get("owner"),
	}
	if group := q.Get("group"); group != "" {
		id, err := recoup.ParseID(group)
		if err != nil {
			wrong.Addf("group", "invalid", "a group is named by its whole id")
		}
		f.Group = id
	}
	if tier := q.Get("tier"); tier != "" {
		n, err := strconv.Atoi(tier)
		if err != nil {
			wrong.Addf("tier", "invalid", "a tier is a number from 1 to 3")
		}
		f.Tier = n
	}
	for key, to := range map[string]**bool{"parked": &f.Parked, "blocking": &f.Blocking} {
		switch q.Get(key) {
		case "":
		case "yes", "true":
			*to = new(true)
		case "no", "false":
			*to = new(false)
		default:
			wrong.Addf(key, "invalid", "%s is yes or no", key)
		}
	}
	for key, to := range map[string]*time.Time{"older": &f.Before, "newer": &f.After} {
		if text := q.Get(key); text != "" {
			d, err := ageOf(text)
			if err != nil {
				wrong.Addf(key, "invalid", "%s is an age such as 30m, 12h or 7d", key)
			}
			*to = now.Add(-d)
		}
	}
	return f, wrong.Err()
}

// ageOf reads an age: 30m, 12h, 7d.
func ageOf(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(text)
}
