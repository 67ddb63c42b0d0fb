package doctor

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// From where on the service is found wanting.
const (
	lateNotice  = 15 * time.Minute
	lateEvents  = time.Minute
	unusedAdmin = 60 * 24 * time.Hour
	oldBackup   = 7 * 24 * time.Hour
	largeLog    = 256 << 20 // bytes; the writer holds it to a quarter of that
	leastFree   = 1 << 30   // bytes, and
	freeShare   = 20        // less than a twentieth of the disk
	silentJob   = 10        // times as long as it should take until it runs again, and
	silentFor   = time.Hour // that at least
)

func judgeJobs(in *Input) (found []FixableFinding) {
	for _, j := range in.Jobs {
		subject, fix := "job "+j.Name, "recoup jobs run "+j.Name
		silent := in.Now.Sub(j.FinishedAt)
		switch {
		case j.Error != "":
			found = append(found, NewFinding(wire.FindingWarning, subject, "It fails: "+j.Error, fix))
		case j.FinishedAt.IsZero():
		case silent > max(silentJob*time.Duration(j.Every)*time.Second, silentFor):
			found = append(found, NewFinding(wire.FindingWarning, subject, "It has not run for "+span(silent)+" and should every "+span(time.Duration(j.Every)*time.Second)+": is a node running?", "recoup jobs list"))
		case j.Late:
			found = append(found, NewFinding(wire.FindingWarning, subject, "It is behind by "+span(time.Duration(j.Lag)*time.Second)+".", fix))
		}
	}
	if len(found) > 3 && len(found) == len(in.Jobs) { // one cause, not as many as there are jobs
		return []FixableFinding{NewFinding(wire.FindingWarning, "scheduled jobs", "None of them runs: "+strings.ToLower(found[0].Evidence[:1])+found[0].Evidence[1:], "recoup jobs list")}
	}
	return found
}

func judgeOutbox(in *Input) []FixableFinding {
	o := in.Facts.Outbox
	if o.OldestDue.IsZero() || in.Now.Sub(o.OldestDue) < lateNotice {
		return nil
	}
	return []FixableFinding{NewFinding(wire.FindingWarning, "outbox", fmt.Sprintf("%s, the oldest for %s: nobody delivers them.", count(o.Waiting, "notification")+" due", span(in.Now.Sub(o.OldestDue))),
		"recoup notifications list")}
}

// judgeEvents looks for events of acts that the ledger could not take. A moment is a note, because a
// short lock is nothing that anybody has to do something about.
func judgeEvents(in *Input) []FixableFinding {
	late := in.Facts.LateEvents
	if late.N == 0 {
		return nil
	}
	severity, age := wire.FindingNote, late.Age(in.Now)
	if age > lateEvents {
		severity = wire.FindingWarning
	}
	return []FixableFinding{NewFinding(severity, "ledger", fmt.Sprintf("%s not in the ledger yet, since %s (for %s), because a session locks recoup.error_event or a month of it, or a month cannot be made. They are durable, and written once that ends.",
		count(late.N, "event"), late.Since.Format(time.RFC3339), span(age)), "recoup jobs run late-events")}
}

func judgeChannels(in *Input) (found []FixableFinding) {
	if in.Node == nil || in.Node.Demo {
		return nil
	}
	for i := range in.Node.Channels {
		switch c := &in.Node.Channels[i]; c.State {
		case wire.ChannelMissing:
			found = append(found, NewFinding(wire.FindingWarning, "channel "+c.Name, "The policy names it, and this node does not have it: its notifications are only logged.", "recoup config show"))
		case wire.ChannelFailing:
			found = append(found, NewFinding(wire.FindingWarning, "channel "+c.Name, fmt.Sprintf("It has failed for %s, %s: %s. %s.", span(in.Now.Sub(c.FailingSince)), count(c.Failures, "message")+" in a row", c.LastFailure, count(c.Undelivered, "notification")+" undelivered"),
				"recoup channels test "+Word(c.Name)))
		}
	}
	for _, action := range in.Node.Unreached {
		found = append(found, NewFinding(wire.FindingNote, "action "+action, "It reaches only the log: no channel of its kind is configured, and no route of the policy leads to one.", "recoup channels test NAME"))
	}
	for _, name := range in.Node.Unrouted {
		found = append(found, NewFinding(wire.FindingNote, "channel "+name, "It is configured, and no route of the policy leads there.", "recoup policy show"))
	}
	return found
}

// judgeKeys looks at API keys. A database that no node has started on has none.
func judgeKeys(in *Input) (found []FixableFinding) {
	admins := 0
	for i := range in.Facts.Keys {
		k := &in.Facts.Keys[i]
		if !k.RevokedAt.IsZero() || !k.ExpiresAt.IsZero() && !k.ExpiresAt.After(in.Now) {
			continue
		}
		if k.ExpiresAt.IsZero() {
			found = append(found, NewFinding(wire.FindingWarning, "key "+k.Name, "It never expires.", "recoup keys rotate "+k.ID.String()))
		}
		if k.Role != "admin" {
			continue
		}
		admins++
		used := k.LastUsedAt
		if used.IsZero() {
			used = k.CreatedAt
		}
		if unused := in.Now.Sub(used); unused > unusedAdmin {
			found = append(found, NewFinding(wire.FindingNote, "key "+k.Name, "It may do everything, and nobody has used it for "+span(unused)+".", "recoup keys revoke "+k.ID.String()))
		}
	}
	if admins == 0 && in.Policy != nil && (in.Node == nil || !in.Node.Demo) {
		found = append(found, NewFinding(wire.FindingWarning, "admin key", "No key with the role admin is valid: nobody can change the policy or make keys through a server.",
			`recoup keys create --role admin --name NAME --database "$RECOUP_DATABASE"`))
	}
	return found
}

func judgeEncryption(in *Input) (found []FixableFinding) {
	plain := 0
	for _, k := range in.Facts.PlatformKeys {
		if k.WrappedBy == "" {
			plain++
		}
	}
	if plain > 0 {
		severity, more, fix := wire.FindingNote, "configure a master key, then encrypt them", "umask 077; head -c 32 /dev/urandom | base64 > master.key; recoup serve --master-key-file master.key"
		if in.Node != nil && in.Node.MasterKey {
			severity, more, fix = wire.FindingWarning, "this node has a master key to encrypt them with", `recoup keys payload wrap --reason "master key configured"`
		}
		found = append(found, NewFinding(severity, "platform keys", fmt.Sprintf("%s in plaintext in the database, and in its backups: %s.", count(plain, "key"), more), fix))
	}
	if in.Node == nil {
		return found
	}
	for _, f := range in.Node.LooseFiles {
		found = append(found, NewFinding(wire.FindingWarning, "secrets in files", "Other users of the machine can read "+f.Path+", which has secrets.", "chmod "+f.Mode+" "+shell(f.Path)))
	}
	return found
}

func judgeBackups(in *Input) []FixableFinding {
	f := &in.Facts
	switch {
	case f.File != nil && !f.Seen(store.FactBackups), f.Server != nil && !f.Seen(store.FactArchiver):
	case f.File != nil && f.LastBackup.IsZero() && in.Now.Sub(f.Since) > oldBackup && !f.Since.IsZero():
		return []FixableFinding{NewFinding(wire.FindingWarning, "backup", "None was ever made of this file by recoup backup, and it is "+span(in.Now.Sub(f.Since))+" old.", "recoup backup recoup-$(date +%F).db --database "+Word("sqlite:"+f.File.Path))}
	case f.File != nil && !f.LastBackup.IsZero() && in.Now.Sub(f.LastBackup) > oldBackup:
		return []FixableFinding{NewFinding(wire.FindingWarning, "backup", "The last one was made "+span(in.Now.Sub(f.LastBackup))+" ago.", "recoup backup recoup-$(date +%F).db --database "+Word("sqlite:"+f.File.Path))}
	case f.Server == nil:
	case !f.Server.Archiving:
		return []FixableFinding{NewFinding(wire.FindingNote, "backup", "Nobody can tell from here whether this database is backed up: its write-ahead log is not archived (archive_mode is off).",
			"pg_dump --format custom --file recoup.dump postgres://"+Word(cmp.Or(f.Server.Owner.Name, "recoup_owner"))+"@…")} // nodes cannot read all of it
	case f.Server.ArchiveFail.After(f.Server.ArchivedAt):
		return []FixableFinding{NewFinding(wire.FindingWarning, "backup", "The write-ahead log cannot be archived: the last attempt failed, and point-in-time recovery ends before it.", SQLCommand(f, "select * from pg_stat_archiver"))}
	}
	return nil
}

func judgeFile(in *Input) (found []FixableFinding) {
	file := in.Facts.File
	if file == nil {
		return nil
	}
	if file.Damage != "" {
		found = append(found, NewFinding(wire.FindingCritical, file.Path, "It is damaged: "+file.Damage, "recoup restore BACKUP --database "+Word("sqlite:"+file.Path)))
	}
	if file.WALBytes > largeLog {
		found = append(found, NewFinding(wire.FindingWarning, file.Path+"-wal", "The write-ahead log has "+size(file.WALBytes)+": a reader has kept it from being folded into the file.",
			SQLCommand(&in.Facts, "pragma wal_checkpoint(truncate)")).With(Fix{Statements: []string{"pragma wal_checkpoint(truncate)"}}))
	}
	if file.FreeBytes >= 0 && file.FreeBytes < leastFree && file.FreeBytes < file.TotalBytes/freeShare {
		found = append(found, NewFinding(wire.FindingCritical, file.Path, "The disk is almost full: "+size(file.FreeBytes)+" are free. Writes will be refused.", "df -h "+shell(file.Path)))
	}
	if file.Shared {
		found = append(found, NewFinding(wire.FindingWarning, file.Path, "Others than its owner can read or write it, with keys and payloads in it.", "chmod 600 "+shell(file.Path)))
	}
	return found
}
