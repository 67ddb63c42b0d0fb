package pgsession_test

import (
	"errors"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/pgsession"
)

// TestOwner checks who may use a schema of whom, in commands and nodes and as an administrator.
func TestOwner(t *testing.T) {
	t.Parallel()
	const more = "SUPERUSER"
	for name, c := range map[string]struct {
		owner          pgsession.Owner
		stated         string
		may, mayForAll bool
	}{
		"no schema":                  {pgsession.Owner{User: "postgres", Acting: "postgres", More: more}, "", true, true},
		"the owner":                  {pgsession.Owner{User: "o", Acting: "o", Schema: "o"}, "", true, true},
		"a node":                     {pgsession.Owner{User: "recoup_app", Acting: "recoup_app", Schema: "o"}, "", true, false},
		"a schema of a superuser":    {pgsession.Owner{User: "a", Acting: "a", Schema: "postgres", Super: true, More: "CREATEROLE"}, "", true, true},
		"more rights":                {pgsession.Owner{User: "postgres", Acting: "postgres", Schema: "o", More: more}, "", false, false},
		"more rights, stated":        {pgsession.Owner{User: "postgres", Acting: "postgres", Schema: "o", More: more}, "o", true, true},
		"another is stated":          {pgsession.Owner{User: "o", Acting: "o", Schema: "o"}, "p", false, false},
		"another role, of the owner": {pgsession.Owner{User: "o", Acting: "m", Schema: "o"}, "", false, false},
	} {
		if err := c.owner.Check(c.stated); (err == nil) != c.may {
			t.Errorf("%s: %v", name, err)
		}
		if err := c.owner.CheckAdministrator(c.stated); (err == nil) != c.mayForAll {
			t.Errorf("%s, as an administrator: %v", name, err)
		}
		if err := c.owner.CheckRole(); errors.Is(err, pgsession.ErrRole) != (c.owner.Acting != c.owner.User) {
			t.Errorf("%s: the role: %v", name, err)
		}
	}
}
