package endtoend

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/test/program"
)

// commandLine sends secrets with the program: as messages, as reasons and notes, as
// names, and in files.
func (p *planting) commandLine() {
	var lines strings.Builder
	for i := 0; i < len(p.corpus); i += 7 {
		line, err := json.Marshal(map[string]any{"code": "NETWORK_TIMEOUT", "service": "import", "details": map[string]any{"field": p.corpus[i].Text}})
		if err != nil {
			p.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	p.recoup(lines.String(), "events", "send")
	next := 3
	secret := func() string { // another one each time, which no name may look like
		for next += 17; ; next++ {
			s := p.corpus[next%len(p.corpus)]
			if s.Refusable() && !strings.HasPrefix(s.Text, "-") {
				return s.Text
			}
		}
	}
	for round := range 2 {
		text := func(kind string) string {
			song := fmt.Sprintf("canary of %s in round %d", kind, round)
			p.canaries[song] = "recoup " + kind
			return song + ": " + secret()
		}
		p.errorActs(text)
		p.letterActs(text)
		p.reasons(text)
		p.refusals(secret)
	}
}

// errorActs reports errors and acts on them.
func (p *planting) errorActs(text func(string) string) {
	for act, code := range map[string]string{"park": "NETWORK_TIMEOUT", "resolve": "NETWORK_TIMEOUT", "archive": "NETWORK_TIMEOUT", "unpark": "VALIDATION_ERROR", "escalate": "VALIDATION_ERROR", "assign": "VALIDATION_ERROR", "review": "VALIDATION_ERROR"} {
		out := p.recoup("", "report", "--table", "outreach.dol_errors", "--entity", p.filled("CLI-{n}", nil), "--code", code, "--message", text("report for "+act), "--json")
		var made struct {
			Error struct {
				ID string `json:"error_id"`
			}
		}
		if err := json.Unmarshal([]byte(out), &made); err != nil || made.Error.ID == "" {
			p.Fatalf("recoup report: %v: %s", err, out)
		}
		args := []string{"errors", act, made.Error.ID, "--reason", text("errors " + act), "--yes"}
		if act == "assign" {
			args = append(args, "--to", "ada")
		}
		p.recoup("", args...)
	}
}

// letterActs takes a dead letter through the first states of the workflow, imports a company and
// pauses work.
func (p *planting) letterActs(text func(string) string) {
	id := p.deadLettered()["id"]
	p.recoup("", "dead-letters", "triage", id, "--cause", "DATA", "--class", "VALIDATION_ERROR", "--stage", "llm", "--exhausted", "no", "--note", text("dead-letters triage"))
	p.recoup("", "dead-letters", "remediate", id, "--link", "INC-7", "--corrected", "the title", "--note", text("dead-letters remediate"))
	p.recoup("", "dead-letters", "validate", id, "--idempotent", "--note", text("dead-letters validate"))
	company := strings.ReplaceAll(text("gate-zero import"), `"`, `""`)
	p.recoup("company_name,state\n\""+company+"\",MN\n", "gate-zero", "import", "-", "--format", "csv", "--batch", "imported")
	p.recoup("", "work", "pause", "--pipeline", p.filled("cli-{n}", nil), "--reason", text("work pause"))
}

// reasons gives the reasons of administrative acts.
func (p *planting) reasons(text func(string) string) {
	file := filepath.Join(p.TempDir(), "policy.yaml")
	version := p.filled("version: 1.0.{n}", nil)
	if err := os.WriteFile(file, []byte(strings.Replace(string(policy.DefaultFile()), "version: 1.0.0", version, 1)), 0o600); err != nil {
		p.Fatal(err)
	}
	for _, args := range [][]string{
		{"keys", "create", "--role", "reader", "--name", p.filled("cli {n}", nil)},
		{"keys", "revoke", p.apiKey()["id"]},
		{"jobs", "run", "ttl"},
		{"gate-zero", "kill", p.batch()["batch_id"]},
		{"policy", "apply", file, "--yes"},
	} {
		p.recoup("", append(args, "--reason", text(strings.Join(args[:2], " ")))...)
	}
}

// refusals tries commands whose text must hold no secret, also without one: so it
// is the secret that is refused.
func (p *planting) refusals(secret func() string) {
	for _, args := range [][]string{
		{"report", "--table", "outreach.dol_errors", "--code", "NETWORK_TIMEOUT", "--entity"},
		{"keys", "create", "--role", "reader", "--name"},
	} {
		p.refused(append(args, secret())...)
		p.recoup("", append(args, p.filled("canary {n} of the command line", nil))...)
	}
}

// recoup runs the program against the node, with success, and looks through what it
// says.
func (p *planting) recoup(in string, args ...string) string {
	out, err := p.ran(in, args...)
	if err != nil {
		p.Errorf("recoup %s: %v: %s", strings.Join(args[:2], " "), err, out)
	}
	return out
}

// refused runs the program with what it must not take.
func (p *planting) refused(args ...string) {
	if out, err := p.ran("", args...); err == nil {
		p.Errorf("recoup %s takes a secret: %s", strings.Join(args[:2], " "), out)
	}
}

func (p *planting) ran(in string, args ...string) (string, error) {
	command := exec.CommandContext(p.Context(), program.Path(p.T), args...)
	command.Env = append(os.Environ(), "RECOUP_SERVER="+p.URL, "RECOUP_KEY="+p.key)
	command.Stdin = strings.NewReader(in)
	var out, said bytes.Buffer
	command.Stdout, command.Stderr = &out, &said
	err := command.Run()
	p.search("recoup "+strings.Join(args[:2], " "), out.String()+said.String())
	if err != nil {
		return said.String(), err
	}
	return out.String(), nil
}

// plainSQL writes errors as a pipeline does that knows nothing of Recoup, and waits
// until they are admitted: from then on their messages are clean in every table. The
// views of SQLite take no rows.
func (p *planting) plainSQL(d database) {
	if d.Kind == "sqlite" {
		return
	}
	db := plainly(p.T, d)
	tables := []string{"outreach.dol_errors", "people.people_errors", "outreach.company_target_errors"}
	written := 0
	for i := 5; i < len(p.corpus); i += 4 {
		song := fmt.Sprintf("canary %d of plain SQL", i)
		p.canaries[song] = "plain SQL"
		insert := "insert into " + tables[i%len(tables)] + " (outreach_id, code, message) values ($1, 'NETWORK_TIMEOUT', $2)"
		if _, err := db.ExecContext(p.Context(), insert, fmt.Sprintf("SQL-%d", i), song+": "+p.corpus[i].Text); err != nil {
			p.Fatal(err)
		}
		written++
	}
	for db.count("select count(*) from error where entity_id like 'SQL-%' and policy_version is not null") < written {
		if err := retry.Sleep(p.Context(), 50*time.Millisecond); err != nil {
			p.Fatal(err)
		}
	}
}
