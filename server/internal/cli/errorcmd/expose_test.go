package errorcmd

var UpNext = upNext
