package engine

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// PreviewSet is the set that a preview has shown, with when each member had changed
// last. Whoever acts hands it back as a token, and what is done is done to these,
// as they were: a filter that is asked again may select others.
//
// A token is no permission. It names rows, as ids do, and each is checked for
// itself when it is acted on; so it is not signed, only guarded against being cut.
type PreviewSet struct {
	Act     string // what was previewed
	Hub     string // that all members are of, where the act asks for it; empty: of several
	Until   time.Time
	Members []Member
}

// Member is a row of a frozen set.
type Member struct {
	ID        recoup.ID
	UpdatedAt time.Time
}

// PreviewLife is how long a preview can be acted on.
const PreviewLife = 15 * time.Minute

const (
	memberBytes = len(recoup.ID{}) + 8
	headBytes   = 1 + 8 + 8 + 1 // version, name of the act, end, length of the hub's name
	sumBytes    = 8
	tokenForm   = 1
)

// Token writes the set down. An empty set has none.
func (f *PreviewSet) Token() string {
	if len(f.Members) == 0 {
		return ""
	}
	b := make([]byte, 0, headBytes+len(f.Hub)+len(f.Members)*memberBytes+sumBytes)
	b = append(b, tokenForm)
	b = append(b, nameSum(f.Act)...)
	b = binary.BigEndian.AppendUint64(b, uint64(f.Until.UnixMicro()))
	b = append(append(b, byte(len(f.Hub))), f.Hub...)
	b = AppendMembers(b, f.Members)
	sum := sha256.Sum256(b)
	return base64.RawURLEncoding.EncodeToString(append(b, sum[:sumBytes]...))
}

// AppendMembers writes members down, each in as many bytes.
func AppendMembers(b []byte, members []Member) []byte {
	for i := range members {
		b = append(b, members[i].ID[:]...)
		b = binary.BigEndian.AppendUint64(b, uint64(members[i].UpdatedAt.UnixMicro()))
	}
	return b
}

// ReadMembers reads what [AppendMembers] has written. It is false for anything else.
func ReadMembers(b []byte) ([]Member, bool) {
	if len(b)%memberBytes != 0 {
		return nil, false
	}
	members := make([]Member, 0, len(b)/memberBytes)
	for ; len(b) > 0; b = b[memberBytes:] {
		members = append(members, Member{ID: recoup.ID(b[:16]), UpdatedAt: time.UnixMicro(int64(binary.BigEndian.Uint64(b[16:]))).UTC()})
	}
	return members, true
}

func nameSum(act string) []byte {
	sum := sha256.Sum256([]byte(act))
	return sum[:8]
}

// ParsePreviewToken reads a token of a preview of the same act.
func ParsePreviewToken(token, act string, now time.Time) (PreviewSet, error) {
	bad := func(constraint, message string) (PreviewSet, error) {
		return PreviewSet{}, fault.BadField("token", constraint, "%s", message)
	}
	broken := func() (PreviewSet, error) {
		return bad("format", "token must be that of a preview, whole; preview again")
	}
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(b) < headBytes+sumBytes || b[0] != tokenForm {
		return broken()
	}
	body := b[:len(b)-sumBytes]
	sum := sha256.Sum256(body)
	rest := headBytes + int(body[headBytes-1])
	if string(sum[:sumBytes]) != string(b[len(body):]) || rest >= len(body) {
		return broken()
	}
	if string(body[1:9]) != string(nameSum(act)) {
		return bad("act", "token is of the preview of another act; preview "+act)
	}
	f := PreviewSet{Act: act, Hub: string(body[headBytes:rest]), Until: time.UnixMicro(int64(binary.BigEndian.Uint64(body[9:]))).UTC()}
	if !now.Before(f.Until) || f.Until.After(now.Add(2*PreviewLife)) {
		return bad("expired", "the preview is older than "+PreviewLife.String()+"; preview again")
	}
	var ok bool
	if f.Members, ok = ReadMembers(body[rest:]); !ok || len(f.Members) > MaxBulk {
		return broken()
	}
	return f, nil
}

// Unchanged refuses a row that has changed since its preview.
func (m *Member) Unchanged(updated time.Time) error {
	if m.UpdatedAt.IsZero() || updated.Equal(m.UpdatedAt) {
		return nil
	}
	return fault.New(fault.CodeStaleRead, "It has changed since the preview, at %s; look at it again.", updated.UTC().Format(time.RFC3339))
}
