package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/internal/redact"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// RegisterCode adds a code, or changes one that was added before. The codes that
// Recoup ships are the contract and do not change. It is audited before it is
// done: what is not written down does not happen.
func (r *registrar) RegisterCode(ctx context.Context, def fault.Definition, act store.Act) error {
	r.changes.Lock()
	defer r.changes.Unlock()
	if shipped, ok := fault.Default().Lookup(def.Code); ok {
		return fault.New(fault.CodeBusinessRuleViolation, "%s is one of the codes that Recoup ships; they do not change.", shipped.Code)
	}
	if current := r.policies.Current(); slices.ContainsFunc(current.Codes, func(own fault.Definition) bool { return own.Code == def.Code }) {
		return fault.New(fault.CodeBusinessRuleViolation, "%s is defined by the policy in force (%s): change it there, and apply the policy.", def.Code, current.Version)
	}
	if err := cleanDefinition(&def); err != nil {
		return err
	}
	next, err := r.Codes().Replace(def)
	if err != nil {
		problem, _ := redact.Default().String(err.Error())
		return fault.BadField("code", "definition", "%s", problem)
	}
	made, _ := next.Lookup(def.Code)
	entry := act.On("code.register", string(def.Code), map[string]any{"class": def.Class, "category": def.Category, "severity": def.Severity})
	if err := r.store.AppendAudit(ctx, entry); err != nil {
		return err
	}
	if err := r.store.SyncCodes(ctx, act.At, []*fault.Definition{made}); err != nil {
		return err
	}
	inForce := r.policies.Current()
	next = inForce.WithRequests(next)
	r.codes.Store(next)
	return r.ledger.Follow(next, ledgerRules(inForce))
}

// cleanDefinition takes secrets out of what is for people, and refuses what names
// something and looks like one.
func cleanDefinition(def *fault.Definition) error {
	secrets := redact.Default()
	var bad []fault.FieldError
	complain := func(field, constraint, message string) {
		bad = append(bad, fault.FieldError{Field: field, Constraint: constraint, Message: message})
	}
	text := func(field string, list ...*string) {
		for _, s := range list {
			if len(*s) > maxDocumentation || strings.ContainsRune(*s, 0) {
				complain(field, "format", fmt.Sprintf("%s must be at most %d bytes without NUL", field, maxDocumentation))
			}
			*s, _ = secrets.String(*s)
		}
	}
	text("description", &def.Description)
	text("origin", &def.Origin)
	def.Causes, def.Resolution = slices.Clone(def.Causes), slices.Clone(def.Resolution)
	for i := range def.Causes {
		text("causes", &def.Causes[i])
	}
	for i := range def.Resolution {
		text("resolution", &def.Resolution[i])
	}
	for _, name := range append([]recoup.Code{def.Code}, def.Aliases...) {
		if bad := secrets.CheckIdentifier(string(name), recoup.MaxCodeLength); bad != nil {
			complain("code", bad.Constraint, "the code or an alias "+bad.Message)
		}
	}
	if e := def.Example; e != nil {
		text("example", &e.Message, &e.RequestID, &e.DocumentationURL)
		if u := strings.ToLower(e.DocumentationURL); u != "" && !strings.HasPrefix(u, "https://") && !strings.HasPrefix(u, "http://") {
			complain("example.documentation_url", "scheme", "the documentation_url of the example must begin with https:// or http://")
		}
		details, err := json.Marshal(e.Details)
		if clean, _ := secrets.String(string(details)); err != nil || clean != string(details) || bytes.Contains(details, []byte(`\u0000`)) {
			complain("example", "no_secret", "the details of the example look like they hold a secret, or cannot be stored")
		}
	}
	if len(bad) > 0 {
		return fault.Validation(bad...)
	}
	return nil
}

// maxDocumentation is the most bytes of one text about a code.
const maxDocumentation = 4096
