package fault

import (
	"io/fs"
	"net"
	"syscall"

	"github.com/recoup-dev/recoup"
)

// network says what the network or the operating system did, and why, in one
// word; no code if neither had a part in it.
func (f *facts) network() (recoup.Code, string) {
	if f.dns != nil {
		return ofDNS(f.dns)
	}
	if code, reason := ofErrno(f.errno, f.dialling); code != "" {
		return code, reason
	}
	switch {
	case f.timeout && f.dialling:
		return CodeNetworkTimeout, "connection_timeout"
	case f.timeout:
		return CodeNetworkTimeout, ""
	case f.eof:
		return CodeConnectionReset, "unexpected_eof"
	}
	return "", ""
}

// ofDNS keeps apart that a name does not exist and that nobody could say. A
// server that fails is treated as one that did not answer; one that refuses to
// answer will refuse again.
func ofDNS(e *net.DNSError) (recoup.Code, string) {
	switch {
	case e.IsNotFound:
		return CodeDomainNotFound, "dns_not_found"
	case e.IsTimeout:
		return CodeDNSTimeout, "dns_timeout"
	case e.IsTemporary:
		return CodeDNSTimeout, "dns_server_failure"
	}
	return "", ""
}

func ofErrno(errno syscall.Errno, dialling bool) (recoup.Code, string) {
	switch errno {
	case syscall.ECONNREFUSED:
		return CodeTemporaryUnavailable, "connection_refused"
	case syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EHOSTDOWN, syscall.ENETDOWN:
		return CodeTemporaryUnavailable, "unreachable"
	case syscall.ECONNRESET, syscall.ECONNABORTED:
		return CodeConnectionReset, "connection_reset"
	case syscall.EPIPE:
		return CodeConnectionReset, "broken_pipe"
	case syscall.ENOSPC, syscall.EDQUOT:
		return CodeStorageFull, "disk_full"
	case syscall.EIO:
		return CodeStorageFull, "io_error"
	case syscall.EMFILE, syscall.ENFILE:
		return CodeServiceOverloaded, "too_many_open_files"
	case syscall.ENOENT:
		if dialling { // the socket of a local server that is not running
			return CodeTemporaryUnavailable, "connection_refused"
		}
		return CodeArtifactNotFound, "file_not_found"
	}
	if errno != 0 && errno.Is(fs.ErrPermission) {
		return CodeInsufficientPermissions, "file_permission"
	}
	return "", ""
}
