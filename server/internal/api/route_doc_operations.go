package api

import (
	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
)

func bulkManuals() map[string]httpapi.Doc {
	list := map[string]httpapi.Doc{
		"POST /v1/operations": {
			About: "Writes down which errors a filter selects now, up to 100000, each as it is. What matches later is not among them; those to which the act does not apply are `refused` at once, and listed with their reason by `/items`. Nothing is done until somebody confirms the operation, within 15 minutes. A key for some hubs gets errors of one of them. One key may have 10 operations that wait for their confirmation.",
			Body:  `{"act": "park", "filter": {"table": "outreach.dol_errors", "state": "RETRY_PENDING"}, "input": {"reason": "the register is down"}}`,
			Fails: []recoup.Code{fault.CodeBusinessRuleViolation},
		},
		"GET /v1/operations":            {About: "Operations with their state and counts.", Params: map[string]string{"state": "RUNNING"}},
		"GET /v1/operations/{id}":       {About: "An operation: what is done, by whom, and how many of its members have which result.", Fails: notFound},
		"GET /v1/operations/{id}/items": {About: "The members of an operation, in their order, and the result of each; of a refusal its code and its reason.", Params: map[string]string{"result": "REFUSED"}, Fails: notFound},
		"POST /v1/operations/{id}/confirm": {
			About: "Has the act carried out on the frozen set, in the name of the key: 200 errors in a transaction, each once, also where a node is lost on the way. An error that has changed since it was frozen is refused by itself. What was not said with the act when the operation was created is said here.",
			Body:  `{"reason": "the register is down"}`,
			Fails: []recoup.Code{fault.CodeNotFound, fault.CodeInvalidTransition, fault.CodeBusinessRuleViolation},
		},
	}
	for act, about := range map[string]string{
		"pause":  "Stops an operation between two chunks. What is done stays done.",
		"resume": "Continues a paused operation where it stood.",
		"cancel": "Ends an operation for good. What is done stays done, and members without a result are as they were.",
	} {
		list["POST /v1/operations/{id}/"+act] = httpapi.Doc{About: about, Body: `{"reason": "look first"}`, Fails: []recoup.Code{fault.CodeNotFound, fault.CodeInvalidTransition}}
	}
	return list
}
