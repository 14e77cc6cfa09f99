package evenkeeltest

import (
	"strconv"
	"strings"
)

// sayHello answers HELLO [protover [AUTH user password] [SETNAME name]].
func (f *Fake) sayHello(c *FakeConn, args []string) Reply {
	f.mu.Lock()
	mode, protected := f.hello, len(f.passwords) > 0
	f.mu.Unlock()
	if mode == HelloUnknown {
		return unknownCommand(append([]string{"HELLO"}, args...))
	}
	proto := c.Proto()
	if len(args) > 0 {
		n, err := strconv.Atoi(args[0])
		if err != nil {
			return Err("ERR Protocol version is not an integer or out of range")
		}
		if n != 2 && (n != 3 || mode == HelloNoProto) {
			return Err("NOPROTO unsupported protocol version")
		}
		proto, args = n, args[1:]
	}
	var name *string
	for len(args) > 0 {
		switch opt := strings.ToUpper(args[0]); {
		case opt == "AUTH" && len(args) >= 3:
			if r := f.signIn(c, args[1], args[2]); r.then != thenGoOn || !isOK(r) {
				return r
			}
			args = args[3:]
		case opt == "SETNAME" && len(args) >= 2:
			name = &args[1]
			args = args[2:]
		default:
			return Err("ERR Syntax error in HELLO option '" + args[0] + "'")
		}
	}
	if protected && c.User() == "" {
		return Err("NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> " +
			"AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time")
	}
	if name != nil {
		if r := c.setName(*name); !isOK(r) {
			return r
		}
	}
	c.mu.Lock()
	c.proto = proto
	c.mu.Unlock()
	return Map(
		Bulk("server"), Bulk("redis"),
		Bulk("version"), Bulk("7.0.15"),
		Bulk("proto"), Int(int64(proto)),
		Bulk("id"), Int(c.id),
		Bulk("mode"), Bulk("standalone"),
		Bulk("role"), Bulk("master"),
		Bulk("modules"), Array(),
	)
}

// auth answers AUTH [user] password.
func (f *Fake) auth(c *FakeConn, args []string) Reply {
	switch len(args) {
	case 1:
		f.mu.Lock()
		_, set := f.passwords["default"]
		f.mu.Unlock()
		if !set {
			return Err("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?")
		}
		return f.signIn(c, "default", args[0])
	case 2:
		return f.signIn(c, args[0], args[1])
	}
	return wrongArgs("AUTH")
}

func (f *Fake) signIn(c *FakeConn, user, password string) Reply {
	f.mu.Lock()
	want, known := f.passwords[user]
	open := user == "default" && !known // as on a server, any password will do then
	f.mu.Unlock()
	if !open && (!known || want != password) {
		return Err("WRONGPASS invalid username-password pair or user is disabled.")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.user = user
	return OK()
}

func (f *Fake) resetState(c *FakeConn) Reply {
	c.multi, c.queued = false, nil
	c.mu.Lock()
	defer c.mu.Unlock()
	c.proto, c.name, c.user, c.db = 2, "", "", "0"
	return Simple("RESET")
}

func isOK(r Reply) bool { return r.value.Str == "OK" }
