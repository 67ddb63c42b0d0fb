package api

import (
	"net/http"

	"github.com/recoup-dev/recoup/fault"
)

// slot is an office of a company, which one person fills.
type slot struct {
	company  string
	occupant string // a person's uid; empty: nobody's
}

type filled struct {
	SlotUID          string `json:"slot_uid"`
	Status           string `json:"status"`
	PersonUID        string `json:"person_uid,omitempty"`
	PreviousOccupant string `json:"previous_occupant,omitempty"`
	RequestID        string `json:"request_id"`
}

// fillSlot puts a person into a slot. force_reassign takes it from whoever has
// it.
func (s *server) fillSlot(c call) (answer, error) {
	var in struct {
		PersonUID     string `json:"person_uid"`
		ForceReassign bool   `json:"force_reassign"`
	}
	if err := decode(c, &in); err != nil {
		return answer{}, err
	}
	out := filled{SlotUID: c.PathValue("slot_uid"), Status: "filled", PersonUID: in.PersonUID, RequestID: c.requestID()}
	var bad fields
	bad.wantSlot(out.SlotUID)
	bad.wantPerson(in.PersonUID)
	if err := bad.err(); err != nil {
		return answer{}, err
	}
	err := s.database.transact(c.Context(), func(t *tables) (err error) {
		out.PreviousOccupant, err = t.fill(out.SlotUID, in.PersonUID, in.ForceReassign)
		return err
	})
	return answer{http.StatusOK, out}, err
}

// fill returns who had the slot before.
func (t *tables) fill(slotUID, personUID string, force bool) (string, error) {
	place, err := t.slot(slotUID)
	if err != nil {
		return "", err
	}
	somebody, err := t.person(personUID)
	if err != nil {
		return "", err
	}
	if somebody.company != "" && somebody.company != place.company {
		return "", fault.New(fault.CodeBusinessRuleViolation, "A person can only fill a slot of the company they belong to.").
			With("rule", "slot_of_own_company").
			With("person_company", somebody.company).With("slot_company", place.company)
	}
	previous := place.occupant
	if previous != "" && previous != personUID && !force {
		return "", fault.New(fault.CodeSlotConflict, "Somebody else fills this slot.").
			With("slot_uid", slotUID).With("current_occupant", previous).
			With("resolution_options", []string{"force_reassign", "assign_to_different_slot", "manual_review"})
	}
	place.occupant, somebody.company = personUID, place.company
	return previous, nil
}

// freeSlot is what makes a SLOT_CONFLICT worth another try.
func (s *server) freeSlot(c call) (answer, error) {
	out := filled{SlotUID: c.PathValue("slot_uid"), Status: "free", RequestID: c.requestID()}
	var bad fields
	bad.wantSlot(out.SlotUID)
	if err := bad.err(); err != nil {
		return answer{}, err
	}
	err := s.database.transact(c.Context(), func(t *tables) error {
		place, err := t.slot(out.SlotUID)
		if err != nil {
			return err
		}
		out.PreviousOccupant, place.occupant = place.occupant, ""
		return nil
	})
	return answer{http.StatusOK, out}, err
}
