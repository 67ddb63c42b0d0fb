package httpapi

// schemaNames are the names of schemas whose Go types have other names.
var schemaNames = map[string]string{
	"ActResult":                "Acted",
	"ActResultBatch":           "ActedBatch",
	"BulkAct":                  "Bulk",
	"DailyCounts":              "Daily",
	"DeadLetterPayload":        "Payload",
	"DeadLetterPayloadRequest": "PayloadLook",
	"DropCount":                "Drop",
	"DropCounts":               "Drops",
	"ErrorFilter":              "Filter",
	"ErrorHistory":             "History",
	"EventExport":              "Export",
	"IntakeBatchAct":           "BatchAct",
	"IntakeBatchStory":         "BatchStory",
	"ItemActResult":            "ItemActed",
	"ProviderList":             "Providers",
	"RetryClaimed":             "Claimed",
	"RetryResult":              "Result",
	"RetryResultBatch":         "ResultBatch",
	"StateCounts":              "Counts",
}
