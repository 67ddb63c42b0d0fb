package console

import "net/http"

// route is a page, or an act whose end is a page. A view returns what its template shows;
// an act sends the browser on, and returns nothing.
type route struct {
	method, path string // the path is below [Path]
	page         string // of the template, and of the entry that is marked in the navigation
	view         func(*Request) (any, error)
}

// routes are all pages and acts.
func routes() []route {
	get, post := http.MethodGet, http.MethodPost
	return []route{
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
		{get, "gate-zero", "gate-zero", viewGateZero},
		{get, "gate-zero/batches/{batch}", "batch", viewBatch},
		{post, "gate-zero/batches/{batch}/{act}", "batch", killBatch},
		{get, "gate-zero/intakes/{id}", "intake", viewIntake},
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
