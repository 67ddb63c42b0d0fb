package console

// Destination is where a sign-in leads.
var Destination = destination
