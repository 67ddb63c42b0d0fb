package deadletters

// What the tests look into.
const QuietAfter = quietAfter

var WatchReplay = watchReplay
