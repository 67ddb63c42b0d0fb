package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// recipe is what a Dockerfile says: the files of the image, one layer for each COPY, and how it runs.
type recipe struct {
	arch   string
	copies []copied
	config runConfig
}

// copied is one COPY.
type copied struct {
	from []string
	to   string
	mode fs.FileMode // of files; 0: as they are
	user int         // owner and group
}

// runConfig is the part of an OCI configuration that says how the image runs.
type runConfig struct {
	User         string              `json:",omitempty"`
	ExposedPorts map[string]struct{} `json:",omitempty"`
	Env          []string            `json:",omitempty"`
	Entrypoint   []string            `json:",omitempty"`
	Cmd          []string            `json:",omitempty"`
	Volumes      map[string]struct{} `json:",omitempty"`
	Healthcheck  *health             `json:",omitempty"`
}

// health is Docker's extension of the configuration.
type health struct {
	Test                           []string
	Interval, Timeout, StartPeriod time.Duration `json:",omitempty"`
}

var option = regexp.MustCompile(`^--([a-z-]+)=(\S+) +`)

// parse reads a Dockerfile for one architecture. What it does not know is an error.
func parse(text, arch string) (*recipe, error) {
	r := &recipe{arch: arch, config: runConfig{ExposedPorts: map[string]struct{}{}, Volumes: map[string]struct{}{}}}
	for line := range strings.Lines(text) {
		line = strings.ReplaceAll(strings.TrimSpace(line), "${TARGETARCH}", arch)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		options := map[string]string{}
		for m := option.FindStringSubmatch(rest); m != nil; m = option.FindStringSubmatch(rest) {
			options[m[1]] = m[2]
			rest = rest[len(m[0]):]
		}
		if err := r.take(word, rest, options); err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
	}
	return r, nil
}

// take adds one instruction.
func (r *recipe) take(word, rest string, options map[string]string) error {
	switch word {
	case "FROM":
		if rest != "scratch" {
			return fmt.Errorf("the base is %q: expected scratch", rest)
		}
	case "ARG": // TARGETARCH is replaced
	case "COPY":
		return r.copy(strings.Fields(rest), options)
	case "USER":
		r.config.User = rest
	case "ENV":
		r.config.Env = append(r.config.Env, strings.Fields(rest)...)
	case "VOLUME":
		r.config.Volumes[rest] = struct{}{}
	case "EXPOSE":
		r.config.ExposedPorts[rest+"/tcp"] = struct{}{}
	case "HEALTHCHECK":
		return r.check(rest, options)
	case "ENTRYPOINT":
		return json.Unmarshal([]byte(rest), &r.config.Entrypoint)
	case "CMD":
		return json.Unmarshal([]byte(rest), &r.config.Cmd)
	default:
		return fmt.Errorf("unknown instruction %s", word)
	}
	return nil
}

func (r *recipe) copy(words []string, options map[string]string) error {
	if len(words) < 2 {
		return fmt.Errorf("%d words: expected what is copied, and where to", len(words))
	}
	c := copied{from: words[:len(words)-1], to: words[len(words)-1]}
	if text := options["chmod"]; text != "" {
		mode, err := strconv.ParseUint(text, 8, 9)
		if err != nil {
			return err
		}
		c.mode = fs.FileMode(mode)
	}
	if owner, group, _ := strings.Cut(options["chown"], ":"); owner != "" {
		id, err := strconv.Atoi(owner)
		if err != nil || owner != group {
			return fmt.Errorf("the owner is %q: expected a number for the user and the same for the group", options["chown"])
		}
		c.user = id
	}
	r.copies = append(r.copies, c)
	return nil
}

func (r *recipe) check(rest string, options map[string]string) error {
	h := &health{}
	for name, to := range map[string]*time.Duration{"interval": &h.Interval, "timeout": &h.Timeout, "start-period": &h.StartPeriod} {
		d, err := time.ParseDuration(options[name])
		if err != nil {
			return err
		}
		*to = d
	}
	var words []string
	if err := json.Unmarshal([]byte(strings.TrimPrefix(rest, "CMD ")), &words); err != nil {
		return err
	}
	h.Test = append([]string{"CMD"}, words...)
	r.config.Healthcheck = h
	return nil
}
