package push

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/recoup-dev/recoup/server/internal/notify"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// The bounds of a receiver.
const (
	DefaultConcurrency = 4
	MaxConcurrency     = 100
	MaxLease           = time.Hour
	DefaultTimeout     = 30 * time.Second

	// margin is how much longer than its time-out a delivery is leased: time to
	// write down what was answered.
	margin = 15 * time.Second
)

// Config sets a receiver up: what it is sent, and the values of its fields.
type Config struct {
	Name   string
	Kind   string
	Values map[string]string // by field; see [Kind.AllFields]
}

// AllFields returns what a receiver of the kind has to know, and may.
func (k Kind) AllFields() []notify.Field {
	fields := []notify.Field{
		{Name: "url", Required: true, Secret: true, Help: "where deliveries go"},
		{Name: "secret", Required: true, Secret: true, Help: "what signatures are made with, 16 characters or more"},
		{Name: "public-only", Help: "public addresses only, without a proxy; false also allows private networks (default: true)"},
		{Name: "concurrency", Help: "deliveries at once, " + strconv.Itoa(DefaultConcurrency) + " if it is not said"},
		{Name: "timeout", Help: "of a delivery, " + DefaultTimeout.String() + " if it is not said"},
		{Name: "lease", Help: "how long what was delivered is the receiver's, at least 15s more than the time-out"},
	}
	return append(fields, k.Fields...)
}

// plan is a configuration that has been read.
type plan struct {
	status     wire.Receiver // as it is before the first delivery
	url        string
	secret     []byte
	publicOnly bool
	timeout    time.Duration
	lease      time.Duration
}

var (
	receiverName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)
	laneName     = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,64}/[A-Za-z0-9_.:-]{1,64}$`)
)

// Check returns what is wrong with the configuration, all of it at once, if there are these
// kinds of receivers. No secret is in the error.
func (c Config) Check(kinds []Kind) error {
	if !receiverName.MatchString(c.Name) {
		return fmt.Errorf("%.70q is no name of a receiver: it needs lower-case letters, digits and hyphens", c.Name)
	}
	kind, known := find(kinds, c.Kind)
	if !known {
		return fmt.Errorf("receiver %s: kind must be one of %v", c.Name, Names(kinds))
	}
	bad := notify.CheckValues("receiver", c.Name, c.Kind, kind.AllFields(), c.Values, checkField)
	if p := c.plan(); len(bad) == 0 && p.lease < p.timeout+margin {
		bad = append(bad, fmt.Errorf("receiver %s: lease must be at least %v, its time-out and %v", c.Name, p.timeout+margin, margin))
	}
	return errors.Join(bad...)
}

// CheckLease returns what is wrong with the configuration where no lease lasts longer
// than most.
func (c Config) CheckLease(most time.Duration) error {
	if p := c.plan(); c.Kind == Work && p.lease > most {
		return fmt.Errorf("receiver %s: its lease of %v is longer than the policy allows, which is %v: timeout may be %v at most", c.Name, p.lease, most, most-margin)
	}
	return nil
}

func checkField(name, value string) error {
	switch name {
	case "concurrency":
		if n, err := strconv.Atoi(value); err != nil || n < 1 || n > MaxConcurrency {
			return fmt.Errorf("must be a whole number from 1 to %d", MaxConcurrency)
		}
	case "timeout":
		if d, err := time.ParseDuration(value); err != nil || d <= 0 || d > MaxLease-margin {
			return fmt.Errorf("must be a duration such as 30s, at most %v", MaxLease-margin)
		}
	case "lease":
		if d, err := time.ParseDuration(value); err != nil || d <= 0 || d > MaxLease {
			return fmt.Errorf("must be a duration such as 5m, at most %v", MaxLease)
		}
	case "lanes":
		for lane := range strings.SplitSeq(value, ",") {
			if !laneName.MatchString(strings.TrimSpace(lane)) {
				return errors.New("must be of the form PIPELINE/STAGE, with commas between them")
			}
		}
	}
	return notify.CheckAddress(name, value)
}

// plan reads the values, which have been checked.
func (c Config) plan() plan {
	v := c.Values
	p := plan{
		status: wire.Receiver{Name: c.Name, Kind: c.Kind, BatchID: v["batch"], Concurrency: DefaultConcurrency, Deliveries: map[string]int64{}},
		url:    v["url"], secret: []byte(v["secret"]), publicOnly: v["public-only"] != "false", timeout: duration(v["timeout"], DefaultTimeout),
	}
	if n, err := strconv.Atoi(v["concurrency"]); err == nil {
		p.status.Concurrency = n
	}
	p.status.TimeoutSeconds, p.lease = p.timeout.Seconds(), duration(v["lease"], p.timeout+margin)
	p.status.Lanes = lanes(v["lanes"])
	return p
}

func duration(text string, otherwise time.Duration) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		return otherwise
	}
	return cmp.Or(d, otherwise)
}
