package config

import (
	"errors"
	"strconv"
	"time"
)

// Bool reads a value that is true or false.
func Bool(into *bool, value string) (err error) {
	if *into, err = strconv.ParseBool(value); err != nil {
		return errors.New("must be true or false")
	}
	return nil
}

// Count reads a whole number above 0.
func Count(into *int, value string) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		return errors.New("must be a whole number above 0")
	}
	*into = n
	return nil
}

// Duration reads a duration above 0.
func Duration(into *time.Duration, value string) error {
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 {
		return errors.New("must be a duration such as 20s or 2m")
	}
	*into = d
	return nil
}
