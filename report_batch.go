package recoup

// ReportBatch is many reports; each succeeds or fails on its own.
type ReportBatch struct {
	Reports []Report `json:"reports" minItems:"1" maxItems:"1000" doc:"the reports; each succeeds or fails on its own"`
}

// ReportedBatch answers a [ReportBatch], in its order.
type ReportedBatch struct {
	Items []Item[Reported] `json:"items" doc:"an answer for each report, in their order"`
}
