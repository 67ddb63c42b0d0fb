package console

import "net/http"

// core is the section that the console itself brings along.
func core() Section {
	return Section{Pages: corePages(), Templates: templates(), Entries: coreEntries(), Within: coreWithin(), Finders: coreFinders(), Columns: coreColumns(), Outcomes: coreOutcomes()}
}

func corePages() []Page {
	get, post := http.MethodGet, http.MethodPost
	return []Page{
		{get, "{$}", "now", viewNow},
		{get, "groups", "groups", viewGroups},
		{get, "groups/{id}", "group", viewErrorGroup},
		{post, "groups/{id}/note", "group", noteErrorGroup},
		{get, "errors", "errors", viewErrors},
		{get, "errors/{id}", "error", viewError},
		{post, "errors/{id}/{verb}", "error", actOnError},
		{post, "errors/preview", "confirm", previewAct},
		{post, "errors/act", "confirm", actOnMany},
		{post, "views", "errors", saveView},
		{post, "views/{id}/delete", "errors", deleteView},
		{get, "park", "park", viewPark},
		{get, "promotion", "promotion", viewPromotion},
		{get, "dead-letters", "dead-letters", viewDeadLetters},
		{get, "dead-letters/{id}", "dead-letter", viewDeadLetter},
		{post, "dead-letters/{id}/{step}", "dead-letter", actOnDeadLetter},
		{get, "dead-letters/groups/{id}", "dead-letter-group", viewGroup},
		{post, "dead-letters/groups/{id}/note", "dead-letter-group", noteGroup},
		{get, "dead-letters/groups/{id}/replay", "replay-plan", viewReplayPlan},
		{post, "dead-letters/groups/{id}/{step}", "group-confirm", previewStep},
		{post, "dead-letters/groups/{id}/{step}/confirm", "dead-letter-group", confirmStep},
		{get, "operations", "operations", viewOperations},
		{get, "operations/{id}", "operation", viewOperation},
		{post, "operations/{id}/{verb}", "operation", actOnOperation},
		{post, "replays", "replay-plan", startReplay},
		{get, "replays/{id}", "replay", viewReplay},
		{post, "replays/{id}/{verb}", "replay", actOnReplay},
		{get, "alerts", "alerts", viewAlerts},
		{get, "alerts/{id}", "alert", viewAlert},
		{post, "alerts/{id}/silence", "alert", silenceAlert},
		{post, "silences/{id}/end", "alerts", endSilence},
		{get, "codes", "codes", viewCodes},
		{get, "policy", "policy", viewPolicy},
		{post, "policy/try", "policy", tryPolicy},
		{get, "admin", "admin", viewAdmin},
		{get, "doctor", "doctor", viewDoctor},
		{post, "admin/jobs/{job}/run", "admin", runJob},
		{post, "admin/providers/{group}/switch", "admin", switchProvider},
		{post, "admin/notices/resend", "admin", resendNotices},
		{get, "audit", "audit", viewAudit},
		{get, "find", "find", find},
		{post, "sign-out", "", signOut},
		{post, "theme", "", choose(themes())},
		{post, "times", "", choose(times())},
		{post, "columns", "", chooseColumns},
	}
}
