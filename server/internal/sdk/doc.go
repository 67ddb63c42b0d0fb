// Package sdk holds no code. Its tests run package client against a real node. They are
// not beside the client because the module of the SDK knows no server.
package sdk
