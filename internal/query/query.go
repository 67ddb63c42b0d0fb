// Package query collects the parameters of a request. Those that are not set are left out.
package query

import (
	"net/url"
	"strconv"
	"time"

	"github.com/recoup-dev/recoup"
)

// Values are parameters of a request. The methods change them and return them.
type Values url.Values

// URL returns the parameters for a URL.
func (v Values) URL() url.Values { return url.Values(v) }

// Text adds a text unless it is empty.
func (v Values) Text(name, value string) Values {
	if value != "" {
		v[name] = []string{value}
	}
	return v
}

// ID adds an id unless it is zero.
func (v Values) ID(name string, id recoup.ID) Values {
	if id.IsZero() {
		return v
	}
	return v.Text(name, id.String())
}

// Number adds a number unless it is 0.
func (v Values) Number(name string, n int) Values {
	if n == 0 {
		return v
	}
	return v.Text(name, strconv.Itoa(n))
}

// Flag adds a flag if it is set.
func (v Values) Flag(name string, yes bool) Values {
	if !yes {
		return v
	}
	return v.Text(name, "true")
}

// Either adds a flag that may be asked for, excluded, or left open.
func (v Values) Either(name string, is *bool) Values {
	if is == nil {
		return v
	}
	return v.Text(name, strconv.FormatBool(*is))
}

// Time adds a time unless it is zero.
func (v Values) Time(name string, t time.Time) Values {
	if t.IsZero() {
		return v
	}
	return v.Text(name, t.UTC().Format(time.RFC3339Nano))
}

// Page adds the part of a list that is wanted.
func (v Values) Page(cursor string, limit int) Values {
	return v.Text("cursor", cursor).Number("limit", limit)
}
