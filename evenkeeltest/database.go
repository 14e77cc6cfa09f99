package evenkeeltest

import (
	"math"
	"strconv"
)

// database is the fake's data, guarded by its lock.
type database struct {
	strings map[string]string
	lists   map[string][]string
	waiting []*waiter // BLPOP, oldest first
}

// waiter is a BLPOP that waits for an element.
type waiter struct {
	keys []string
	got  chan [2]string // key and element; has room for one
}

func (db *database) clear() {
	db.strings = make(map[string]string)
	db.lists = make(map[string][]string)
}

func (db *database) remove(key string) bool {
	_, isString := db.strings[key]
	_, isList := db.lists[key]
	delete(db.strings, key)
	delete(db.lists, key)
	return isString || isList
}

func (db *database) exists(key string) bool {
	_, isString := db.strings[key]
	_, isList := db.lists[key]
	return isString || isList
}

func (db *database) increment(key string) Reply {
	n, err := int64(0), error(nil)
	if s, ok := db.strings[key]; ok {
		n, err = strconv.ParseInt(s, 10, 64)
	}
	if err != nil {
		return Err("ERR value is not an integer or out of range")
	}
	if n == math.MaxInt64 {
		return Err("ERR increment or decrement would overflow")
	}
	n++
	db.strings[key] = strconv.FormatInt(n, 10)
	return Int(n)
}

// push adds elements at the left or right end, and serves those who wait. The
// length it returns is that before they are served, as a server answers.
func (db *database) push(key string, elems []string, left bool) int {
	for _, e := range elems {
		if left {
			db.lists[key] = append([]string{e}, db.lists[key]...)
		} else {
			db.lists[key] = append(db.lists[key], e)
		}
	}
	n := len(db.lists[key])
	kept := db.waiting[:0]
	for _, w := range db.waiting {
		if k, e, ok := db.popAny(w.keys); ok {
			w.got <- [2]string{k, e}
		} else {
			kept = append(kept, w)
		}
	}
	db.waiting = kept
	return n
}

func (db *database) pop(key string) (string, bool) {
	l := db.lists[key]
	if len(l) == 0 {
		return "", false
	}
	if len(l) == 1 {
		delete(db.lists, key)
	} else {
		db.lists[key] = l[1:]
	}
	return l[0], true
}

func (db *database) popAny(keys []string) (key, elem string, ok bool) {
	for _, k := range keys {
		if e, ok := db.pop(k); ok {
			return k, e, true
		}
	}
	return "", "", false
}

// abandon takes a waiter out of the queue. It returns false when the waiter has
// been served already.
func (db *database) abandon(w *waiter) bool {
	for i, x := range db.waiting {
		if x == w {
			db.waiting = append(db.waiting[:i], db.waiting[i+1:]...)
			return true
		}
	}
	return false
}
