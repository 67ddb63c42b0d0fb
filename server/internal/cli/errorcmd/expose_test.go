package errorcmd

// What the tests look into.
const MaxActs = maxActs

var UpNext = upNext
