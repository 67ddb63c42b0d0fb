package redact

import (
	"maps"
	"slices"
)

// stageContext is the allow-list of the context of a dead letter (spec 002, 8.4):
// ids, counts, states and truncated hashes. No key has room for a prompt or a
// body; their hashes tell whether two are the same.
func stageContext() AllowList {
	return AllowList{
		MaxValue: 128,
		MaxTotal: 2048,
		Keys: []Allowed{
			{"stage", Label()},
			{"attempt", Int()},
			{"max_attempts", Int()},
			{"exhausted", Bool()},
			{"upstream", Label()},
			{"upstream_status", Int()},
			{"retry_after_sec", Int()},
			{"request_id", Label()},
			{"idempotency_key", Label()},
			{"correlation_id", ID()},
			{"payload_hash", Hash()},
			{"prompt_hash", Hash()},
			{"body_hash", Hash()},
			{"payload_id", Label()},
			{"worker", Label()},
			{"release", Label()},
			{"service", Label()},
			{"region", Label()},
		},
	}
}

// maxNamed is how many members a map within a context may have.
const maxNamed = 20

// Context keeps of a dead letter's context what may be kept: the keys of the
// list, and two maps by name: attempts per stage and request ids per upstream.
func Context(members map[string]any) (kept map[string]any, dropped Drops) {
	flat := maps.Clone(members)
	maps.DeleteFunc(flat, func(key string, _ any) bool { return key == "attempts" || key == "request_ids" })
	kept, dropped = stageContext().Apply(Default(), flat)
	for key, kind := range map[string]Kind{"attempts": Int(), "request_ids": Label()} {
		value, ok := members[key]
		if !ok {
			continue
		}
		part, lost := named(value, kind)
		if len(part) > 0 {
			if kept == nil {
				kept = map[string]any{}
			}
			kept[key] = part
		}
		for reason, n := range lost {
			if dropped == nil {
				dropped = Drops{}
			}
			dropped[reason] += n
		}
	}
	return kept, dropped
}

// named keeps the members of a map whose names and values may be kept.
func named(value any, kind Kind) (map[string]any, Drops) {
	members, ok := value.(map[string]any)
	if !ok {
		return nil, Drops{DropWrongType: 1}
	}
	list := AllowList{MaxValue: 128, MaxTotal: 2048}
	var bad Drops
	for _, name := range slices.Sorted(maps.Keys(members)) {
		switch {
		case len(list.Keys) == maxNamed || len(name) > 64:
			bad = Drops{DropTooLarge: bad[DropTooLarge] + 1}
		case label.MatchString(name) && len(Default().spans(name)) == 0:
			list.Keys = append(list.Keys, Allowed{name, kind})
		}
	}
	kept, dropped := list.Apply(Default(), members)
	if dropped == nil {
		return kept, nil
	}
	// What is too large is not on the list, and was counted as unknown.
	if n := bad[DropTooLarge]; n > 0 {
		dropped[DropTooLarge] += n
		if dropped[DropUnknownKey] -= n; dropped[DropUnknownKey] == 0 {
			delete(dropped, DropUnknownKey)
		}
	}
	return kept, dropped
}
