package api

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"recoup"
	"recoup/client"
	"recoup/fault"
	"recoup/internal/check"
	"recoup/internal/store"
)

func (a *API) listKeys(c *call, in *page) (client.KeyPage, error) {
	at, err := in.read()
	if err != nil {
		return client.KeyPage{}, err
	}
	keys, cursor, err := a.Store.Keys(c.r.Context(), at)
	return client.KeyPage{Keys: listed(keys), Next: next(cursor)}, err
}

type newKeyIn struct{ Body client.NewKey }

func (a *API) createKey(c *call, in *newKeyIn) (recoup.Key, error) {
	if err := a.checkKey(c, in); err != nil {
		return recoup.Key{}, err
	}
	life := time.Duration(cmp.Or(in.Body.Days, 90)) * 24 * time.Hour
	key, err := NewKey(a.IDs, a.Random, c.now, in.Body.Name, Role(in.Body.Role), in.Body.Hubs, life)
	if err != nil {
		return recoup.Key{}, err
	}
	return a.Store.CreateKey(c.r.Context(), key, c.act(in.Body.Reason))
}

// act is the administrative act of the caller.
func (c *call) act(reason string) store.Act {
	return c.caller.Act(reason, c.now)
}

func (a *API) checkKey(_ *call, in *newKeyIn) error {
	return CheckKey(in.Body, func(hub string) bool { return len(a.tablesOf(hub)) > 0 })
}

// CheckKey says everything that is wrong with a key that is asked for. The hubs
// that there are, known knows.
func CheckKey(k client.NewKey, known func(hub string) bool) error {
	var bad fault.FieldErrors
	if k.Name == "" {
		bad.Addf("name", "required", "name is required: who or what will use the key")
	}
	if strings.EqualFold(k.Name, recoup.System) {
		bad.Addf("name", "reserved", "system is the name of what nobody asked for; choose another")
	}
	if !slices.Contains(Roles(), Role(k.Role)) {
		bad.Addf("role", "enum", "role must be ingest, worker, operator, admin or reader")
	}
	if k.Days < 0 || k.Days > 90 {
		bad.Addf("days", "range", "days must be between 1 and 90")
	}
	for i, hub := range k.Hubs {
		if !known(hub) {
			bad.Addf(fmt.Sprintf("hubs[%d]", i), "known", "the policy has no hub of this name; recoup policy show lists its hubs")
		}
	}
	bad.Merge(check.Identifier("name", k.Name))
	bad.Merge(check.Reason(k.Reason))
	return bad.Err()
}

type reasonIn struct {
	idIn
	Body struct {
		Reason string `json:"reason,omitempty" maxLength:"1000" doc:"why; the audit keeps it"`
	}
}

func (a *API) revokeKey(c *call, in *reasonIn) (recoup.Key, error) {
	if err := check.Reason(in.Body.Reason); err != nil {
		return recoup.Key{}, err
	}
	key, err := a.Store.RevokeKey(c.r.Context(), in.ID, c.act(in.Body.Reason))
	a.keys.forget()
	return key, err
}

type rotateIn struct {
	idIn
	Body client.KeyRotation
}

func (a *API) rotateKey(c *call, in *rotateIn) (recoup.Key, error) {
	if err := check.Reason(in.Body.Reason); err != nil {
		return recoup.Key{}, err
	}
	old, err := a.key(c, in.ID)
	if err != nil {
		return recoup.Key{}, err
	}
	key, err := NewKey(a.IDs, a.Random, c.now, old.Name, Role(old.Role), old.Hubs, KeyLife)
	if err != nil {
		return recoup.Key{}, err
	}
	ends := c.now.Add(Overlap(in.Body.Hours))
	stored, err := a.Store.RotateKey(c.r.Context(), old.ID, key, ends, c.act(in.Body.Reason))
	if errors.Is(err, store.ErrConflict) {
		return recoup.Key{}, fault.Wrap(err, fault.CodeConflict, "The key is revoked, or another took over from it before.")
	}
	if err != nil {
		return recoup.Key{}, err
	}
	a.keys.forget()
	return stored, nil
}

// Overlap is how long a key still works once another has taken over from it: a day,
// unless somebody says otherwise. None at all is said with a zero.
func Overlap(hours *int) time.Duration {
	if hours == nil {
		return 24 * time.Hour
	}
	return time.Duration(*hours) * time.Hour
}

// key finds a key among all of them; they are few.
func (a *API) key(c *call, id recoup.ID) (recoup.Key, error) {
	page := store.Page{Limit: store.MaxPage}
	for {
		keys, cursor, err := a.Store.Keys(c.r.Context(), page)
		if err != nil {
			return recoup.Key{}, err
		}
		if i := slices.IndexFunc(keys, func(k recoup.Key) bool { return k.ID == id }); i >= 0 {
			return keys[i], nil
		}
		if cursor.IsZero() {
			return recoup.Key{}, store.ErrNotFound
		}
		page.Cursor = cursor
	}
}
