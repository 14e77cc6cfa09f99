package evenkeeltest

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// perform answers a request as the fake does by itself. It runs on the answering
// goroutine of the request's conn.
func (f *Fake) perform(r *Request) Reply {
	c := r.Conn
	switch r.Name {
	case protocolErrorName:
		return Err("ERR Protocol error: invalid request").ThenClose()
	case "HELLO":
		return f.sayHello(c, r.Args[1:])
	case "AUTH":
		return f.auth(c, r.Args[1:])
	case "QUIT":
		return OK().ThenClose()
	case "RESET":
		return f.resetState(c)
	}
	f.mu.Lock()
	protected := len(f.passwords) > 0
	f.mu.Unlock()
	if protected && c.User() == "" {
		return Err("NOAUTH Authentication required.")
	}
	switch r.Name {
	case "MULTI":
		if c.multi {
			return Err("ERR MULTI calls can not be nested")
		}
		c.multi = true
		return OK()
	case "DISCARD":
		if !c.multi {
			return Err("ERR DISCARD without MULTI")
		}
		c.multi, c.queued = false, nil
		return OK()
	case "EXEC":
		return f.exec(c)
	}
	if c.multi {
		c.queued = append(c.queued, r)
		return Simple("QUEUED")
	}
	return f.run(r, true)
}

func (f *Fake) exec(c *FakeConn) Reply {
	if !c.multi {
		return Err("ERR EXEC without MULTI")
	}
	queued := c.queued
	c.multi, c.queued = false, nil
	replies := make([]Reply, len(queued))
	for i, q := range queued {
		replies[i] = f.run(q, false)
	}
	return Array(replies...)
}

// run runs a command that depends neither on MULTI nor on signing in.
func (f *Fake) run(r *Request, mayBlock bool) Reply {
	least, known := fakeArity[r.Name]
	switch {
	case !known:
		return unknownCommand(r.Args)
	case len(r.Args) < least:
		return wrongArgs(r.Name)
	}
	switch r.Name {
	case "CLIENT":
		return f.client(r)
	case "SELECT":
		return selectDB(r.Conn, r.Args[1])
	case "BLPOP":
		return f.blpop(r, mayBlock)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.db.run(r)
}

// fakeArity holds the least number of words of each command that run knows.
var fakeArity = map[string]int{
	"CLIENT": 2, "SELECT": 2, "PING": 1, "ECHO": 2, "GET": 2, "SET": 3, "DEL": 2, "EXISTS": 2,
	"INCR": 2, "MGET": 2, "MSET": 3, "LPUSH": 3, "RPUSH": 3, "LPOP": 2, "LLEN": 2, "BLPOP": 3,
	"FLUSHALL": 1,
}

// run runs a command on the data alone.
func (db *database) run(r *Request) Reply {
	key := r.Arg(1)
	switch r.Name {
	case "PING":
		if len(r.Args) > 1 {
			return Bulk(key)
		}
		return Simple("PONG")
	case "ECHO":
		return Bulk(key)
	case "GET":
		return db.get(key)
	case "SET":
		if len(r.Args) > 3 {
			return Err("ERR syntax error: the fake knows no options of SET")
		}
		db.remove(key)
		db.strings[key] = r.Args[2]
		return OK()
	case "DEL", "EXISTS":
		n := int64(0)
		for _, k := range r.Args[1:] {
			if r.Name == "DEL" && db.remove(k) || r.Name == "EXISTS" && db.exists(k) {
				n++
			}
		}
		return Int(n)
	case "INCR":
		if db.lists[key] != nil {
			return wrongType()
		}
		return db.increment(key)
	case "MGET":
		replies := make([]Reply, 0, len(r.Args)-1)
		for _, k := range r.Args[1:] {
			v := db.get(k)
			if db.lists[k] != nil {
				v = Null()
			}
			replies = append(replies, v)
		}
		return Array(replies...)
	case "MSET":
		if len(r.Args)%2 == 0 {
			return wrongArgs(r.Name)
		}
		for i := 1; i < len(r.Args); i += 2 {
			db.remove(r.Args[i])
			db.strings[r.Args[i]] = r.Args[i+1]
		}
		return OK()
	case "FLUSHALL":
		db.clear()
		return OK()
	}
	if _, isString := db.strings[key]; isString {
		return wrongType()
	}
	switch r.Name {
	case "LPUSH", "RPUSH":
		return Int(int64(db.push(key, r.Args[2:], r.Name == "LPUSH")))
	case "LPOP":
		if e, ok := db.pop(key); ok {
			return Bulk(e)
		}
		return Null()
	case "LLEN":
		return Int(int64(len(db.lists[key])))
	}
	return unknownCommand(r.Args)
}

func (db *database) get(key string) Reply {
	if db.lists[key] != nil {
		return wrongType()
	}
	if v, ok := db.strings[key]; ok {
		return Bulk(v)
	}
	return Null()
}

// blpop waits for an element, its timeout, CLIENT UNBLOCK or the end of the conn.
func (f *Fake) blpop(r *Request, mayBlock bool) Reply {
	c := r.Conn
	seconds, err := strconv.ParseFloat(r.Args[len(r.Args)-1], 64)
	switch {
	case err != nil:
		return Err("ERR timeout is not a float or out of range")
	case seconds < 0:
		return Err("ERR timeout is negative")
	}
	w := &waiter{keys: r.Args[1 : len(r.Args)-1], got: make(chan [2]string, 1)}
	f.mu.Lock()
	for _, k := range w.keys {
		if _, isString := f.db.strings[k]; isString {
			f.mu.Unlock()
			return wrongType()
		}
	}
	if k, e, ok := f.db.popAny(w.keys); ok {
		f.mu.Unlock()
		return Strings(k, e)
	}
	if !mayBlock {
		f.mu.Unlock()
		return NullArray()
	}
	f.db.waiting = append(f.db.waiting, w)
	f.mu.Unlock()
	unblock := c.startBlocking()
	defer c.endBlocking()
	if c.flush() != nil {
		return f.giveUp(w, Hangup())
	}
	var timeout <-chan time.Time
	if seconds > 0 {
		t := time.NewTimer(time.Duration(seconds * float64(time.Second)))
		defer t.Stop()
		timeout = t.C
	}
	select {
	case e := <-w.got:
		return Strings(e[0], e[1])
	case <-timeout:
		return f.giveUp(w, NullArray())
	case how := <-unblock:
		if how == "ERROR" {
			return f.giveUp(w, Err("UNBLOCKED client unblocked via CLIENT UNBLOCK"))
		}
		return f.giveUp(w, NullArray())
	case <-c.closed:
		return f.giveUp(w, Hangup())
	case <-c.gone:
		return f.giveUp(w, Hangup())
	}
}

// giveUp ends a wait with the given reply, unless an element has just been given to
// it: that must not get lost.
func (f *Fake) giveUp(w *waiter, otherwise Reply) Reply {
	f.mu.Lock()
	inTime := f.db.abandon(w)
	f.mu.Unlock()
	if inTime {
		return otherwise
	}
	e := <-w.got // it is there: only abandon and the giver take a waiter from the queue
	return Strings(e[0], e[1])
}

func (c *FakeConn) startBlocking() <-chan string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unblock = make(chan string, 1)
	return c.unblock
}

func (c *FakeConn) endBlocking() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unblock = nil
}

// wake ends the wait of a blocked conn, and tells whether there was one.
func (c *FakeConn) wake(how string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unblock == nil {
		return false
	}
	select {
	case c.unblock <- how:
		return true
	default:
		return false // it has been woken already
	}
}

func (f *Fake) client(r *Request) Reply {
	c := r.Conn
	switch sub := strings.ToUpper(r.Args[1]); {
	case sub == "ID":
		return Int(c.id)
	case sub == "SETNAME" && len(r.Args) == 3:
		return c.setName(r.Args[2])
	case sub == "GETNAME":
		if name := c.Name(); name != "" {
			return Bulk(name)
		}
		return Null()
	case sub == "SETINFO" && len(r.Args) == 4, sub == "NO-EVICT" && len(r.Args) == 3, sub == "NO-TOUCH" && len(r.Args) == 3:
		return OK()
	case sub == "UNBLOCK" && len(r.Args) >= 3:
		how := "TIMEOUT"
		if len(r.Args) == 4 {
			how = strings.ToUpper(r.Args[3])
		}
		if o := f.connOf(r.Args[2]); o != nil && o.wake(how) {
			return Int(1)
		}
		return Int(0)
	case sub == "KILL" && len(r.Args) == 4 && strings.EqualFold(r.Args[2], "ID"):
		switch o := f.connOf(r.Args[3]); o {
		case nil:
			return Int(0)
		case c:
			return Int(1).ThenClose()
		default:
			o.Close()
			return Int(1)
		}
	}
	return Err(fmt.Sprintf("ERR unknown subcommand or wrong number of arguments for '%s'. Try CLIENT HELP.", r.Args[1]))
}

func (f *Fake) connOf(id string) *FakeConn {
	for _, c := range f.Conns() {
		if strconv.FormatInt(c.id, 10) == id {
			return c
		}
	}
	return nil
}

func (c *FakeConn) setName(name string) Reply {
	for i := range len(name) {
		if name[i] < '!' || name[i] > '~' {
			return Err("ERR Client names cannot contain spaces, newlines or special characters.")
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.name = name
	return OK()
}

func selectDB(c *FakeConn, db string) Reply {
	n, err := strconv.Atoi(db)
	switch {
	case err != nil:
		return Err("ERR value is not an integer or out of range")
	case n < 0 || n > 15:
		return Err("ERR DB index is out of range")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.db = strconv.Itoa(n)
	return OK()
}

func unknownCommand(args []string) Reply {
	var b strings.Builder
	fmt.Fprintf(&b, "ERR unknown command '%s', with args beginning with: ", args[0])
	for _, a := range args[1:] {
		fmt.Fprintf(&b, "'%s' ", a)
	}
	return Err(b.String())
}

func wrongArgs(name string) Reply {
	return Err(fmt.Sprintf("ERR wrong number of arguments for '%s' command", strings.ToLower(name)))
}

func wrongType() Reply {
	return Err("WRONGTYPE Operation against a key holding the wrong kind of value")
}
