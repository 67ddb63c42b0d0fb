package recoup

// DeadLetterPage is a page of dead letters, newest first.
type DeadLetterPage struct {
	DeadLetters []DeadLetter `json:"dead_letters" doc:"this page of the list"`
	Next        string       `json:"next,omitempty" doc:"the cursor of the next page; none: this is the last"`
}

// DeadLetterPayloadRequest asks for the payload of a dead letter. The reason is audited.
type DeadLetterPayloadRequest struct {
	Reason string `json:"reason" maxLength:"1000" doc:"why the payload is read; the audit keeps it"`
}

// DeadLetterPayload is the payload of a dead letter.
type DeadLetterPayload struct {
	Payload []byte `json:"payload" doc:"base64"`
}
