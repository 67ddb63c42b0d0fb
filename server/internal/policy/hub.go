package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// HubName is a hub as people can name it: by its id, or by its name.
type HubName struct{ ID, Name string }

// FindHub returns the id of the hub that a word names: its id as it is written, else its id or
// name in any case. An unknown word is an error that lists the hubs and the nearest of them. It does
// not repeat the word, which can be a secret.
func FindHub(word string, hubs []HubName) (id string, err error) {
	is := func(same func(HubName) bool) bool {
		i := slices.IndexFunc(hubs, same)
		if i >= 0 {
			id = hubs[i].ID
		}
		return i >= 0
	}
	if is(func(h HubName) bool { return h.ID == word }) ||
		is(func(h HubName) bool { return strings.EqualFold(h.Name, word) }) ||
		is(func(h HubName) bool { return strings.EqualFold(h.ID, word) }) {
		return id, nil
	}
	var known, words []string
	for _, h := range hubs {
		known, words = append(known, h.String()), append(words, h.ID, h.Name)
	}
	if len(known) == 0 {
		return "", errors.New("unknown hub: the policy has no hubs")
	}
	slices.Sort(known)
	return "", fmt.Errorf("unknown hub; hubs are: %s%s", strings.Join(known, ", "), hint(word, words))
}

// HubsOf lists the hubs that own some tables.
func HubsOf(tables []*Table) (hubs []HubName) {
	for _, t := range tables {
		if h := (HubName{t.Hub, t.HubName()}); !slices.Contains(hubs, h) {
			hubs = append(hubs, h)
		}
	}
	return hubs
}

// String writes a hub as it can be named.
func (h HubName) String() string {
	if h.Name == "" || h.Name == h.ID {
		return h.ID
	}
	return h.ID + " (" + h.Name + ")"
}

// namedHubs replaces the names of hubs that the file refers to by their ids. What names no hub
// stays, and is refused by the checks.
func (f *file) namedHubs() {
	var hubs []HubName
	for id, h := range f.Hubs {
		hubs = append(hubs, HubName{id, h.Name})
	}
	slices.SortFunc(hubs, func(a, b HubName) int { return strings.Compare(a.ID, b.ID) })
	replace := func(word *string) {
		if *word == "" {
			return
		}
		if id, err := FindHub(*word, hubs); err == nil {
			*word = id
		}
	}
	replace(&f.PlatformHub)
	for name, t := range f.Tables {
		replace(&t.Hub)
		f.Tables[name] = t
	}
	for name, p := range f.Providers {
		replace(&p.Hub)
		f.Providers[name] = p
	}
	for i := range f.Alerts.Rules {
		replace(&f.Alerts.Rules[i].Hub)
	}
}
