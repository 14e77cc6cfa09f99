package workload

import (
	"strconv"
	"strings"
)

// returnsValue reports whether a command's reply is the value of its one key.
func returnsValue(words []string) bool {
	switch strings.ToUpper(words[0]) {
	case "GET", "GETEX", "GETDEL":
		return true
	default:
		return false
	}
}

// Verify checks one whole encoded reply, from its type byte to its last line end, against what this workload writes under the key that the tag's request
// asked for. A null is right: the key may not be there. So is an error reply, which is counted elsewhere, and the reply of every request that reads no
// value. Otherwise the error is a *VerifyError. Any stream of the plan can check any other's tags; without Workload.Verify all replies are right.
//
// A value of 16 bytes or more is told apart from all others; of shorter ones, a share of 2^-18 at most passes by chance, and for less than 4 bytes one of 64 for each byte.
func (s *Stream) Verify(t Tag, reply []byte) error {
	if t&tagSigned == 0 || len(reply) == 0 {
		return nil
	}
	key := uint64(t >> tagKeyShift)
	switch reply[0] {
	case '-', '!', '_':
		return nil
	case '$':
		value, null, ok := bulk(reply)
		if null {
			return nil
		}
		if ok {
			return s.plan.contents.check(value, key)
		}
	}
	return &VerifyError{Fault: NotAValue, Key: int64(key), Size: len(reply), At: -1}
}

// bulk takes a bulk string apart.
func bulk(reply []byte) (value []byte, null, ok bool) {
	for i := 1; i < len(reply); i++ {
		if reply[i] != '\r' {
			continue
		}
		n, err := strconv.Atoi(string(reply[1:i]))
		if err != nil || n < -1 || i+1 >= len(reply) || reply[i+1] != '\n' {
			return nil, false, false
		}
		body := reply[i+2:]
		switch {
		case n == -1:
			return nil, len(body) == 0, false
		case len(body) != n+2 || body[n] != '\r' || body[n+1] != '\n':
			return nil, false, false
		}
		return body[:n], false, true
	}
	return nil, false, false
}
