package lifecycle

import (
	"slices"

	"github.com/recoup-dev/recoup"
)

// Exits returns the acts in the order in which refusals and explanations list them: the
// archive, from which nothing comes back, is last.
func Exits() []recoup.ActKind {
	list := recoup.Acts()
	i := slices.IndexFunc(list, func(act recoup.ActKind) bool { return act.Name == recoup.ActArchive })
	return append(slices.Delete(slices.Clone(list), i, i+1), list[i])
}

// ActInput is the input of an act, which people ask for.
type ActInput interface {
	Input

	// Act returns the act and what was said with it.
	Act() (recoup.ActName, recoup.Act)
}

// NewAct returns the input of an act that a person asks for, or nil if the name is that of
// no act.
func NewAct(name recoup.ActName, by string, said recoup.Act) ActInput {
	switch name {
	case recoup.ActPark:
		return Park{By: by, Reason: recoup.ParkReason(said.Reason)}
	case recoup.ActUnpark:
		return Unpark{By: by, Reason: said.Reason}
	case recoup.ActResolve:
		return Resolve{By: by, Reason: said.Reason}
	case recoup.ActEscalate:
		return Escalate{By: by, Reason: said.Reason, Tier: said.Tier}
	case recoup.ActAssign:
		return Assign{By: by, To: said.To, Reason: said.Reason}
	case recoup.ActReview:
		return Review{By: by, Reason: said.Reason}
	case recoup.ActArchive:
		return ArchiveNow{By: by, Reason: said.Reason}
	}
	return nil
}

// Act implements [ActInput].
func (in Park) Act() (recoup.ActName, recoup.Act) {
	return recoup.ActPark, recoup.Act{Reason: string(in.Reason)}
}

// Act implements [ActInput].
func (in Unpark) Act() (recoup.ActName, recoup.Act) {
	return recoup.ActUnpark, recoup.Act{Reason: in.Reason}
}

// Act implements [ActInput].
func (in Resolve) Act() (recoup.ActName, recoup.Act) {
	return recoup.ActResolve, recoup.Act{Reason: in.Reason}
}

// Act implements [ActInput].
func (in Escalate) Act() (recoup.ActName, recoup.Act) {
	return recoup.ActEscalate, recoup.Act{Reason: in.Reason, Tier: in.Tier}
}

// Act implements [ActInput].
func (in Assign) Act() (recoup.ActName, recoup.Act) {
	return recoup.ActAssign, recoup.Act{To: in.To, Reason: in.Reason}
}

// Act implements [ActInput].
func (in Review) Act() (recoup.ActName, recoup.Act) {
	return recoup.ActReview, recoup.Act{Reason: in.Reason}
}

// Act implements [ActInput].
func (in ArchiveNow) Act() (recoup.ActName, recoup.Act) {
	return recoup.ActArchive, recoup.Act{Reason: in.Reason}
}
