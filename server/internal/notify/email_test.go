package notify_test

import (
	"context"
	"io"
	"mime"
	"mime/quotedprintable"
	netmail "net/mail"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/notify"
)

// mailbox makes a channel to a server.
func mailbox(t *testing.T, s *mailServer, values ...string) notify.Channel {
	t.Helper()
	trusting := tools()
	trusting.Roots = s.roots
	given := append([]string{"server", s.address(), "from", "Recoup <recoup@example.com>", "to", "ops@example.com, Ada <ada@example.com>"}, values...)
	return channel(t, notify.Email, trusting, given...)
}

func TestEmail(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		implicit bool
		values   []string
	}{
		"starttls":      {false, nil},
		"with password": {false, []string{"user", "recoup", "password", "hunter2"}},
		"implicit":      {true, []string{"tls", "implicit", "user", "recoup", "password", "hunter2"}},
		"in the clear":  {false, []string{"tls", "none"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newMailServer(t, row.implicit)
			s.users["recoup"] = "hunter2"
			if err := mailbox(t, s, row.values...).Send(t.Context(), sample()); err != nil {
				t.Fatal(err)
			}
			got := s.received()
			if len(got) != 1 {
				t.Fatalf("%d mails, want 1", len(got))
			}
			m := got[0]
			if m.from != "recoup@example.com" || !slices.Equal(m.to, []string{"ops@example.com", "ada@example.com"}) ||
				m.encrypted != (name != "in the clear") || (m.user != "") != slices.Contains(row.values, "user") {
				t.Errorf("got %+v", m)
			}
			checkMail(t, m.text)
		})
	}
}

// checkMail reads a mail as its reader would.
func checkMail(t *testing.T, text string) {
	t.Helper()
	read, err := netmail.ReadMessage(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"From": `"Recoup" <recoup@example.com>`, "Subject": "[Recoup] 1 error that an operator has to look at now",
		"Message-Id": "<01000000-0000-0000-0000-000000000000@recoup>", "Auto-Submitted": "auto-generated", "Mime-Version": "1.0",
		"Content-Type": "text/plain; charset=utf-8", "Date": "Mon, 02 Feb 2026 09:00:00 +0000",
	} {
		if got := read.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if list, err := read.Header.AddressList("To"); err != nil || len(list) != 2 {
		t.Errorf("to %v, %v", list, err)
	}
	body, err := io.ReadAll(quotedprintable.NewReader(read.Body))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"RUNTIME_BUG in outreach.dol_errors", "tier 1", "blocking", "https://recoup.example.com/console/errors/x"} {
		if !strings.Contains(string(body), want) {
			t.Errorf("the mail has no %q:\n%s", want, body)
		}
	}
}

// TestMailRefused wants the right end for every reply that is no success, and
// nothing of the reply but its code.
func TestMailRefused(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		verb, reply, reason string
		permanent           bool
	}{
		"busy":              {"CONNECT", "421 hunter2 is busy", "greeting with 421", false},
		"no such sender":    {"MAIL", "550 hunter2", "sender with 550", false},
		"slow down":         {"MAIL", "451 hunter2", "sender with 451", false},
		"message refused":   {"END", "554 hunter2", "message with 554", true},
		"message put off":   {"END", "452 hunter2", "message with 452", false},
		"no data":           {"DATA", "554 hunter2", "message with 554", true},
		"wrong password":    {"AUTH", "535 hunter2", "authentication with 535", false},
		"no encryption":     {"STARTTLS", "454 hunter2", "encryption with 454", false},
		"garbage":           {"MAIL", "\x00\x01", "the connection failed", false},
		"silence":           {"MAIL", "hang", "no answer in time", false},
		"silence at first":  {"CONNECT", "hang", "no answer in time", false},
		"silence after all": {"END", "hang", "no answer in time", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newMailServer(t, false)
			s.users["recoup"] = "hunter2"
			s.reply(row.verb, row.reply)
			ctx, cancel := t.Context(), context.CancelFunc(func() {})
			if row.reply == "hang" {
				ctx, cancel = context.WithTimeout(ctx, 200*time.Millisecond)
			}
			defer cancel()
			err := mailbox(t, s, "user", "recoup", "password", "hunter2").Send(ctx, sample())
			wantFailure(t, err, row.reason, row.permanent, 0)
			if len(s.received()) != 0 {
				t.Error("a mail was accepted")
			}
		})
	}
}

// TestMailRecipients wants a mail to go to those who can be reached.
func TestMailRecipients(t *testing.T) {
	t.Parallel()
	s := newMailServer(t, false)
	s.reply("RCPT", "550 unknown")
	if err := mailbox(t, s).Send(t.Context(), sample()); err != nil {
		t.Fatal(err)
	}
	if got := s.received(); len(got) != 1 || !slices.Equal(got[0].to, []string{"ada@example.com"}) {
		t.Errorf("got %+v", got)
	}
	s.reply("RCPT", "550 unknown", "550 unknown")
	wantFailure(t, mailbox(t, s).Send(t.Context(), sample()), "recipient with 550", true, 0)
	s.reply("RCPT", "550 unknown", "450 later")
	wantFailure(t, mailbox(t, s).Send(t.Context(), sample()), "recipient with 450", false, 0)
}

// TestMailEncryption wants no mail and no password in the clear.
func TestMailEncryption(t *testing.T) {
	t.Parallel()
	s := newMailServer(t, false)
	s.offerTLS = false
	wantFailure(t, mailbox(t, s, "user", "recoup", "password", "hunter2").Send(t.Context(), sample()), "no encryption", false, 0)
	other := newMailServer(t, false)
	other.roots = s.roots // of somebody else
	wantFailure(t, mailbox(t, other).Send(t.Context(), sample()), "certificate is not trusted", false, 0)
	if len(s.received())+len(other.received()) != 0 {
		t.Error("a mail was accepted")
	}
}

// TestMailInjection wants no text to become a header, a recipient or the end of the
// mail.
func TestMailInjection(t *testing.T) {
	t.Parallel()
	s := newMailServer(t, false)
	m := sample()
	evil := "x\r\nBcc: eve@example.com\r\n\r\n.\r\nMAIL FROM:<eve@example.com>\r\n"
	m.Title, m.To, m.Items[0].Scope, m.Items[0].Rule = evil, evil, evil, "naïve ☃ "+strings.Repeat("long ", 300)
	if err := mailbox(t, s).Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	got := s.received()
	if len(got) != 1 || len(got[0].to) != 2 {
		t.Fatalf("got %+v", got)
	}
	read, err := netmail.ReadMessage(strings.NewReader(got[0].text))
	if err != nil {
		t.Fatal(err)
	}
	if len(read.Header) != 9 || read.Header.Get("Bcc") != "" {
		t.Errorf("the headers are %v", read.Header)
	}
	if subject, err := (&mime.WordDecoder{}).DecodeHeader(read.Header.Get("Subject")); err != nil || strings.ContainsAny(subject, "\r\n") {
		t.Errorf("the subject is %q, %v", subject, err)
	}
	for _, bad := range []string{"a@b\r\nBcc: c@d", "no address", "a@b>\r\nRCPT TO:<c@d"} {
		if err := config("mail", notify.Email, "server", s.address(), "from", bad, "to", "a@b").Check(); err == nil {
			t.Errorf("a sender %q is accepted", bad)
		}
	}
}
