package notify

// PublicAddress is what a channel with public-only may reach.
var PublicAddress = public
