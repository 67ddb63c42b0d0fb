package redact

import (
	"regexp"
	"slices"
	"strings"
)

// callRule finds the passwords and keys that stand among the arguments of a call, in the trace of a
// stack or in a line of source. The name of the function says which argument is the secret.
func callRule() rule {
	return rule{name: "told", of: "call", gate: callNames(), find: findCalls}
}

// call says which arguments of a function are secrets.
type call struct {
	at     string // their positions, counted from 0
	judged bool   // the name is common, so that only what looks like a secret is taken
	last   bool   // only the last of the positions that the call has
}

// calls are the functions that take a secret, by what stands up to their arguments, in lower case. A
// name that ends with a blank has arguments without brackets.
var calls = map[string]call{
	// PHP
	"pdo->__construct(": {at: "2"}, "new pdo(": {at: "2"}, "createpdoconnection(": {at: "2"}, "createconnection(": {at: "2", judged: true},
	"mysqli->__construct(": {at: "2"}, "new mysqli(": {at: "2"}, "mysqli_connect(": {at: "2"}, "mysqli->real_connect(": {at: "2"}, "mysqli_real_connect(": {at: "3"}, "mysql_connect(": {at: "2"}, "mysql_pconnect(": {at: "2"},
	"wpdb->__construct(": {at: "1"}, "new wpdb(": {at: "1"}, "ldap_bind(": {at: "2"}, "redis->auth(": {at: "0"},
	"password_verify(": {at: "0"}, "password_hash(": {at: "0"}, "hash::make(": {at: "0"}, "hash::check(": {at: "0"}, "->authenticate(": {at: "1", judged: true}, "smtp->authenticate(": {at: "1"},
	"ftp_login(": {at: "2"}, "imap_open(": {at: "2"}, "oci_connect(": {at: "1"}, "oci_pconnect(": {at: "1"}, "odbc_connect(": {at: "2"}, "db2_connect(": {at: "2"}, "ibase_connect(": {at: "2"},
	"ssh2_auth_password(": {at: "2"}, "amqpstreamconnection->__construct(": {at: "3"}, "amqpstreamconnection(": {at: "3"}, "amqpsslconnection->__construct(": {at: "3"},
	"hash_hmac(": {at: "2", judged: true}, "openssl_encrypt(": {at: "2"}, "openssl_decrypt(": {at: "2"},
	// Python
	"mysqldb.connect(": {at: "2"}, "pymysql.connect(": {at: "2"}, "cx_oracle.connect(": {at: "1"}, "oracledb.connect(": {at: "1"}, "httpbasicauth(": {at: "1"}, "httpdigestauth(": {at: "1"},
	"smtp.login(": {at: "1"}, "imap.login(": {at: "1"}, "ftp.login(": {at: "1"}, "server.login(": {at: "1"}, "jwt.encode(": {at: "1"}, "jwt.decode(": {at: "1"}, "check_password_hash(": {at: "1"}, "generate_password_hash(": {at: "0"}, "make_password(": {at: "0"}, "set_password(": {at: "0", judged: true},
	"bcrypt.hashpw(": {at: "0"}, "bcrypt.checkpw(": {at: "0"}, "hmac.new(": {at: "0", judged: true}, "fernet(": {at: "0", judged: true},
	// Java, C#, PowerShell
	"drivermanager.getconnection(": {at: "2"}, "getconnection(": {at: "12", judged: true, last: true}, "networkcredential(": {at: "1"}, "passwordauthentication(": {at: "1"}, "usernamepasswordcredentials(": {at: "1"},
	"usernamepasswordauthenticationtoken(": {at: "1"}, "pscredential(": {at: "1", judged: true}, "convertto-securestring ": {at: "0"},
	// JavaScript, Go, Ruby
	"jwt.sign(": {at: "1"}, "jwt.verify(": {at: "1"}, "bcrypt.compare(": {at: "0"}, "bcrypt.comparesync(": {at: "0"}, "bcrypt.hash(": {at: "0"}, "bcrypt.hashsync(": {at: "0"}, "createhmac(": {at: "1"},
	"setbasicauth(": {at: "1"}, "plainauth(": {at: "2"}, "twilio.new(": {at: "1"},
	// SQL
	"crypt(": {at: "0", judged: true}, "pgp_sym_encrypt(": {at: "1"}, "pgp_sym_decrypt(": {at: "1"}, "aes_encrypt(": {at: "1"}, "aes_decrypt(": {at: "1"}, "sp_set_password(": {at: "1"},
	"sp_addlogin ": {at: "1"}, "sp_password ": {at: "01"}, "sp_addlinkedsrvlogin ": {at: "4"},
	"createcipheriv(": {at: "1"}, "createdecipheriv(": {at: "1"}, "twilio::rest::client.new(": {at: "1"}, "twilio.rest.client(": {at: "1"}, "bot.login(": {at: "0", judged: true}, "client.login(": {at: "01", judged: true},
	"new sequelize(": {at: "2"}, "privatekeytoaccount(": {at: "0"}, "from_key(": {at: "0", judged: true}, "totp(": {at: "0", judged: true}, "sharedkeycredential(": {at: "1"}, "simple_bind_s(": {at: "1"}, "bind_s(": {at: "1"},
	"setauth(": {at: "1", judged: true}, "basic_auth(": {at: "1", judged: true}, "basicauth(": {at: "1", judged: true}, "basicauthentication(": {at: "1"}, "basic_auth=(": {at: "1", judged: true}, "http_auth=(": {at: "1", judged: true}, "plaincredentials(": {at: "1"}, "ftp(": {at: "2", judged: true}, "bind(": {at: "1", judged: true}, "login (": {at: "1", judged: true}, "set_basic_auth(": {at: "1"}, "basic_auth ": {at: "1", judged: true}, "basic_authorize ": {at: "1", judged: true}, "http_basic_auth ": {at: "1", judged: true}, "authtokens.basic(": {at: "1"}, "setcredentials(": {at: "1", judged: true}, "basiccredentials(": {at: "1"},
	// ClickHouse
	"mysql(": {at: "4", judged: true}, "postgresql(": {at: "4", judged: true}, "remote(": {at: "3", judged: true}, "remotesecure(": {at: "3", judged: true},
	// any language
	"verify(": {at: "1", judged: true}, "authenticate(": {at: "1", judged: true}, "signin(": {at: "1", judged: true}, "sign_in(": {at: "1", judged: true},
	"login(": {at: "1", judged: true}, "connect(": {at: "2", judged: true},
}

func callNames() []string {
	names := make([]string, 0, len(calls))
	for name := range calls {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// callGate finds the names of calls. Of two that end at the same place, it has the longer one.
var callGate = newLiteralGate(callNames()...)

func findCalls(s string, f finding) finding {
	const nested = 2 // how many calls are read among the arguments of another
	f.work += len(s)
	within, until := 0, 0
	for at := 0; at < len(s); {
		from, to := callGate.next(s, at)
		if from < 0 {
			break
		}
		at = to
		c := calls[strings.ToLower(s[from:to])]
		if !begins(s, from) && !c.follows(s, from) {
			continue
		}
		if within++; to >= until {
			within = 0
		} else if within > nested {
			at = until
			continue
		}
		end := callEnd(s, to)
		until = max(until, end)
		f.work += 2 * (end - to)
		f = c.arguments(s, to, end, f)
	}
	return f
}

// arguments takes the secrets among the arguments between from and to.
func (c call) arguments(s string, from, to int, f finding) finding {
	items := split(s, from, to)
	for i, item := range items {
		if c.last && i+1 < len(items) && c.has(i+1) {
			continue
		}
		if v := positional(s, item); c.has(i) && c.takes(s, v) {
			f.add(v.from, v.to)
		}
	}
	return f
}

// has reports whether the argument i is a secret.
func (c call) has(i int) bool { return i < 10 && strings.IndexByte(c.at, byte('0'+i)) >= 0 }

// follows reports whether a name may be the end of a longer one: safe_login(.
func (c call) follows(s string, from int) bool {
	return c.judged || hump(s, from) || strings.IndexByte(">.\\:", s[from]) >= 0
}

// maxCall is how much of the arguments of a call is read.
const maxCall = 512

// callEnd returns where the arguments end that begin at i.
func callEnd(s string, i int) int {
	limit := min(len(s), i+maxCall)
	if s[i-1] == '(' {
		return listEnd(s[:limit], i-1)
	}
	return limit
}

// positional returns what stands in the quotes of an argument, or all of it. An argument with a name is
// left to the rules that read names.
func positional(s string, item extent) extent {
	name := nameEnd(s[:item.to], item.from)
	if name > item.from && strings.HasPrefix(strings.TrimLeft(s[name:item.to], " "), "=") {
		return extent{}
	}
	v := unquoted(s, item)
	if before := s[item.from:v.from]; !v.bare && !literalPrefix.MatchString(before) {
		return extent{} // os.environ["PASSWORD"] names a secret
	}
	return v
}

// literalPrefix matches what may stand before the text of an argument.
var literalPrefix = regexp.MustCompile(`(?i)^\(?(?:[a-z@$]{0,2}|(?:\[\]byte|buffer\.from|bytes|some|-string)[( ])\\*["'` + "`" + `]$`)

// takes reports whether an argument is a secret. One without quotes may be a variable.
func (c call) takes(s string, v extent) bool {
	if v.from >= v.to || masked(s[v.from:v.to]) || strings.HasPrefix(s[v.from:], opening) {
		return false
	}
	value := s[v.from:v.to]
	if !v.bare {
		return !c.judged || !plainShape(value) && (chosenWord(value) || scrambled(value))
	}
	return alphanumeric(value[0]) && !strings.HasPrefix(value, "0x") && !strings.ContainsAny(value, " ()[]{}$<>=") && chosenAt(s, v.from, v.to) && (changes(value) > 1 || signed(value))
}

// wrapped returns the secret argument of a call that is the value of a name, where the call has
// several: auth=HTTPBasicAuth('ada', 'X'). If the function is not known, that is all of them.
func wrapped(s string, i int) extent {
	const longest = 128
	n := len(wrapper.FindString(s[i:min(len(s), i+longest)]))
	if n == 0 || s[i+n-2] != '(' {
		return extent{}
	}
	begin := i + n - 1
	end := listEnd(s[:min(len(s), begin+longest)], begin-1)
	items := split(s, begin, end)
	if len(items) < 2 {
		return extent{}
	}
	c := calls[strings.ToLower(s[i:begin])]
	for k, item := range items {
		if v := positional(s, item); c.has(k) && !v.bare {
			return v
		}
	}
	if positional(s, items[1]).bare || positional(s, items[1]) == (extent{}) {
		return extent{} // the first argument alone is a text
	}
	if isQuote(s[end-1]) {
		end--
	}
	return extent{from: begin + 1, to: end}
}
