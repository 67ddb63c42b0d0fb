package notify

// Public is what a channel with public-only may reach.
var Public = public
