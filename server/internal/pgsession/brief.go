package pgsession

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// maxSaid is how many bytes of each text of a server's error are kept.
const maxSaid = 1000

// Brief cuts the texts of an error of the server, and returns the error. Code of others can raise
// errors with texts of many megabytes, which would be logged.
func Brief(err error) error {
	if said, ok := errors.AsType[*pgconn.PgError](err); ok {
		for _, text := range []*string{&said.Message, &said.Detail, &said.Hint, &said.Where, &said.InternalQuery} {
			*text = BriefText(*text)
		}
	}
	return err
}

// BriefText is the beginning of a text. A word at the end is left out rather than cut: nothing
// would recognise the rest of it as a secret.
func BriefText(text string) string {
	if len(text) <= maxSaid {
		return text
	}
	text = strings.ToValidUTF8(text[:maxSaid], "")
	if end := strings.LastIndexAny(text, " \t\n"); end > 0 {
		text = text[:end]
	}
	return text + " …"
}
