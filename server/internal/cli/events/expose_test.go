package events

// What the tests look into.
type Sent = sent
