package wire

// ProviderSwitch asks to use another member of a group.
type ProviderSwitch struct {
	To     string `json:"to" maxLength:"100" doc:"the member of the group to use"`
	Reason string `json:"reason" maxLength:"1000" doc:"why it is switched"`
}
