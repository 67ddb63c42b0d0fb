package api

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup/fault"
)

// queuePause is how long it takes until the verification queue has room again.
const queuePause = 2 * time.Minute

// verifiers can tell whether an e-mail address exists. The first is asked where
// a request does not choose.
func verifiers() []string { return []string{"millionverifier", "zerobounce"} }

type person struct {
	name, email string
	company     string // empty: nobody's yet
}

type personRequest struct {
	Name       string `json:"name"`
	Email      string `json:"email"`
	CompanyUID string `json:"company_uid"` // optional
	Verifier   string `json:"verifier"`    // optional: who verifies the address
}

func (in personRequest) check() error {
	var bad fields
	bad.want(strings.TrimSpace(in.Name) != "", "name", in.Name, "required", "A person needs a name.")
	bad.want(isEmail(in.Email), "email", in.Email, "format", "Expected an address such as ann@example.com.")
	if in.CompanyUID != "" {
		bad.wantCompany(in.CompanyUID)
	}
	bad.want(slices.Contains(verifiers(), in.Verifier), "verifier", in.Verifier, "enum",
		"Expected one of "+strings.Join(verifiers(), ", ")+", or none.")
	return bad.err()
}

func (s *server) createPerson(c call) (answer, error) {
	in := personRequest{Verifier: verifiers()[0]}
	if err := decode(c, &in); err != nil {
		return answer{}, err
	}
	if err := in.check(); err != nil {
		return answer{}, err
	}
	if err := s.requireCompany(c, in.CompanyUID); err != nil {
		return answer{}, err
	}
	if err := s.verify(c, in.Verifier, in.Email); err != nil {
		return answer{}, err
	}
	var uid string
	err := s.database.transact(c.Context(), func(t *tables) error {
		uid = t.uid("PE", c.now)
		t.people[uid] = &person{name: in.Name, email: in.Email, company: in.CompanyUID}
		return nil
	})
	return answer{http.StatusCreated, map[string]string{
		"person_uid": uid, "status": "created", "request_id": c.requestID(),
	}}, err
}

// requireCompany comes before the verification, which costs money.
func (s *server) requireCompany(c call, uid string) error {
	if uid == "" {
		return nil
	}
	return s.database.transact(c.Context(), func(t *tables) error {
		_, err := t.company(uid)
		return err
	})
}

// verify asks an external service about an address, a few at a time.
func (s *server) verify(c call, verifier, email string) error {
	if s.failures.On(Queue) || !s.verifications.enter() {
		return fault.New(fault.CodeValidationQueueFull, "Too many addresses are being verified.").
			With("limit", cap(s.verifications)).After(queuePause)
	}
	defer s.verifications.leave()
	return s.external.ask(c.Context(), verifier, map[string]string{"email": email})
}
