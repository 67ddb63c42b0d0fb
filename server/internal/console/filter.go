package console

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// A list is narrowed by tokens, such as state:PARKED. They are parameters of the address, so
// that a list can be kept, sent and come back to; what is typed becomes one of them.

// token is a part of a filter that is shown, and can be taken away.
type token struct {
	Key, Value string
	Without    string // the address without it
}

// typed turns what was typed into the address of the list that is meant. What has no key is
// an entity: that is what people have in their hands.
func typed(q url.Values, text string) url.Values {
	for _, word := range tokenWords(text) {
		key, value, ok := strings.Cut(word, ":")
		if !ok || !slices.Contains(wire.TokenKeys(), key) {
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

// tokenWords splits what was typed at its spaces. What stands in quotes, as in text:"no
// answer", is one word, and what follows text: without quotes is one to its end.
func tokenWords(text string) (list []string) {
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		rest, searched := strings.CutPrefix(text, "text:")
		quoted, isQuoted := strings.CutPrefix(rest, `"`)
		word, after := "", ""
		switch {
		case searched && isQuoted:
			word, after, _ = strings.Cut(quoted, `"`)
			word = "text:" + word
		case searched:
			word = "text:" + strings.TrimSpace(rest)
		default:
			word, after, _ = strings.Cut(text, " ")
		}
		list, text = append(list, word), after
	}
	return list
}

// tokens are the parts of an address's filter.
func tokens(page string, q url.Values) []token {
	var list []token
	for _, key := range wire.TokenKeys() {
		if value := q.Get(key); value != "" {
			rest := url.Values{}
			for k, v := range q {
				if k != key && k != "cursor" && k != "done" && k != "n" {
					rest[k] = v
				}
			}
			list = append(list, token{key, value, Address(page, rest)})
		}
	}
	return list
}

// Address is a page with its parameters.
func Address(page string, q url.Values) string {
	if len(q) == 0 {
		return page
	}
	return page + "?" + q.Encode()
}

// filter reads the filter of an address. All that is wrong with it is said at once.
func filter(q url.Values, now time.Time) (recoup.ErrorFilter, error) {
	return wire.TokenFilter(filterTokens(q), now)
}

// filterTokens are the tokens of an address, and tokenQuery the address of tokens.
func filterTokens(q url.Values) (list []string) {
	for _, key := range wire.TokenKeys() {
		if value := q.Get(key); value != "" {
			list = append(list, key+":"+value)
		}
	}
	return list
}

func tokenQuery(tokens []string) url.Values {
	q := url.Values{}
	for _, text := range tokens {
		key, value, _ := strings.Cut(text, ":")
		q.Set(key, value)
	}
	return q
}
