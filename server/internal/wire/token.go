package wire

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// TokenKeys are what a list of errors is narrowed by in tokens such as state:PARKED, as the
// console has them in its addresses and as views keep them.
func TokenKeys() []string {
	return []string{"state", "table", "hub", "code", "entity", "owner", "tier", "parked", "blocking", "older", "newer", "group", "text"}
}

// TokenFilter reads tokens as a filter. Ages, as in older:2d, count from now. All that is
// wrong with them is said at once.
func TokenFilter(tokens []string, now time.Time) (recoup.ErrorFilter, error) {
	var f recoup.ErrorFilter
	var wrong fault.FieldErrors
	seen := map[string]bool{}
	for i, token := range tokens {
		field := fmt.Sprintf("tokens[%d]", i)
		key, value, _ := strings.Cut(token, ":")
		switch {
		case !slices.Contains(TokenKeys(), key):
			wrong.Addf(field, "pattern", "a token is a key, a colon and a value; keys are %s", strings.Join(TokenKeys(), ", "))
		case seen[key]:
			wrong.Addf(field, "unique", "%s is there twice", key)
		case value == "":
			wrong.Addf(field, "required", "%s needs a value", key)
		default:
			if err := narrow(&f, key, value, now); err != nil {
				wrong.Addf(field, "pattern", "%v", err)
			}
		}
		seen[key] = true
	}
	return f, wrong.Err()
}

func yes(key, value string) (*bool, error) {
	switch value {
	case "yes", "true":
		return new(true), nil
	case "no", "false":
		return new(false), nil
	}
	return nil, fmt.Errorf("%s is yes or no", key)
}

// ago is the time that was so long ago.
func ago(key, value string, now time.Time) (time.Time, error) {
	length, err := ParseAge(value)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s is %w", key, err)
	}
	return now.Add(-length), nil
}

// ParseAge reads a length of time as people write it: 30m, 12h, 7d.
func ParseAge(text string) (time.Duration, error) {
	length, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16)
		length = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || length < 0 {
		return 0, errors.New("an age such as 30m, 12h or 7d")
	}
	return length, nil
}

// narrow restricts a filter by one token.
func narrow(f *recoup.ErrorFilter, key, value string, now time.Time) (err error) {
	texts := map[string]*string{"table": &f.Table, "hub": &f.Hub, "code": &f.Code, "entity": &f.EntityID, "owner": &f.AssignedTo, "text": &f.Text}
	switch key {
	case "state":
		f.State = recoup.State(strings.ToUpper(value))
		if !slices.Contains(recoup.States(), f.State) || f.State == recoup.Archived {
			err = errors.New("state is ACTIVE, RETRY_PENDING, PARKED, ESCALATED or RESOLVED")
		}
	case "tier":
		if f.Tier, err = strconv.Atoi(value); err != nil || f.Tier < 1 || f.Tier > 3 {
			err = errors.New("tier is a number from 1 to 3")
		}
	case "group":
		if f.Group, err = recoup.ParseID(value); err != nil {
			err = errors.New("group is the whole id of a group")
		}
	case "parked":
		f.Parked, err = yes(key, value)
	case "blocking":
		f.Blocking, err = yes(key, value)
	case "older":
		f.Before, err = ago(key, value, now)
	case "newer":
		f.After, err = ago(key, value, now)
	default:
		*texts[key] = value
	}
	return err
}
