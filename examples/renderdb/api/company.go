package api

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/recoup-dev/recoup/fault"
)

// offices are the slots that every company has.
func offices() []string { return []string{"CEO", "CFO", "HR"} }

type company struct {
	UID     string `json:"company_uid"`
	Name    string `json:"name"`
	Website string `json:"website"`
}

// slots lists the uids of a company's slots.
func (c company) slots() []string {
	var uids []string
	for _, office := range offices() {
		uids = append(uids, "SL-"+c.UID+"-"+office)
	}
	return uids
}

// created answers the creation of a company (spec 001, Complete Success
// Response).
type created struct {
	CompanyUID   string    `json:"company_uid"`
	Status       string    `json:"status"`
	SlotsCreated int       `json:"slots_created"`
	CreatedAt    time.Time `json:"created_at"`
	RequestID    string    `json:"request_id"`
}

func (s *server) createCompany(c call) (answer, error) {
	var in struct{ Name, Website string }
	if err := decode(c, &in); err != nil {
		return answer{}, err
	}
	var bad fields
	bad.want(strings.TrimSpace(in.Name) != "", "name", in.Name, "required", "A company needs a name.")
	bad.want(isWebsite(in.Website), "website", in.Website, "format", "Expected a URL such as https://example.com.")
	if err := bad.err(); err != nil {
		return answer{}, err
	}
	var uid string
	err := s.database.transact(c.Context(), func(t *tables) (err error) {
		uid, err = t.addCompany(in.Name, in.Website, c.now)
		return err
	})
	return answer{http.StatusCreated, created{
		CompanyUID: uid, Status: "created", SlotsCreated: len(offices()), CreatedAt: c.now.UTC().Truncate(time.Second), RequestID: c.requestID(),
	}}, err
}

// addCompany makes a company and its slots, unless another has its website.
func (t *tables) addCompany(name, website string, now time.Time) (string, error) {
	site := host(website)
	if existing, taken := t.websites[site]; taken {
		return "", fault.New(fault.CodeDuplicateRecord, "A company with this website is already there.").
			With("field", "website").With("existing_uid", existing)
	}
	uid := t.uid("CO", now)
	t.websites[site] = uid
	added := company{UID: uid, Name: name, Website: website}
	t.companies[uid] = added
	for _, name := range added.slots() {
		t.slots[name] = &slot{company: uid}
	}
	return uid, nil
}

// host is what makes two websites the same.
func host(website string) string {
	u, err := url.Parse(website)
	if err != nil {
		return website
	}
	return strings.ToLower(u.Hostname())
}

func (s *server) showCompany(c call) (answer, error) {
	var out struct {
		company
		Slots     map[string]string `json:"slots"` // slot → who fills it, if anybody
		RequestID string            `json:"request_id"`
	}
	out.Slots, out.RequestID = map[string]string{}, c.requestID()
	err := s.withCompany(c, func(t *tables, found company) {
		out.company = found
		for _, uid := range found.slots() {
			out.Slots[uid] = t.slots[uid].occupant
		}
	})
	return answer{http.StatusOK, out}, err
}

// withCompany reads the company that the path names.
func (s *server) withCompany(c call, read func(*tables, company)) error {
	uid := c.PathValue("company_uid")
	var bad fields
	bad.wantCompany(uid)
	if err := bad.err(); err != nil {
		return err
	}
	return s.database.transact(c.Context(), func(t *tables) error {
		found, err := t.company(uid)
		if err == nil {
			read(t, found)
		}
		return err
	})
}

// scrapeCompany has the company's website read by the scraper.
func (s *server) scrapeCompany(c call) (answer, error) {
	var found company
	if err := s.withCompany(c, func(_ *tables, it company) { found = it }); err != nil {
		return answer{}, err
	}
	if err := s.external.ask(c.Context(), "scraper", map[string]string{"url": found.Website}); err != nil {
		return answer{}, err
	}
	return answer{http.StatusOK, map[string]string{
		"company_uid": found.UID, "status": "scraped", "request_id": c.requestID(),
	}}, nil
}
