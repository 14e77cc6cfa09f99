package workload

import (
	"errors"
	"strconv"
	"strings"

	"github.com/evenkeel-go/evenkeel/internal/resp"
)

// splitWords splits a line as redis-cli does: blanks separate words; "double quotes" know \n \r \t \b \a \xHH and a backslash before any other character; 'single quotes'
// know \' only.
func splitWords(line string) ([]string, error) {
	var words []string
	for i := 0; ; {
		for i < len(line) && isBlank(line[i]) {
			i++
		}
		if i == len(line) {
			return words, nil
		}
		var w strings.Builder
		for i < len(line) && !isBlank(line[i]) {
			switch line[i] {
			case '"', '\'':
				end, err := quoted(&w, line, i)
				if err != nil {
					return nil, err
				}
				if end < len(line) && !isBlank(line[end]) {
					return nil, errors.New("a closing quote must be followed by a blank")
				}
				i = end
			default:
				w.WriteByte(line[i])
				i++
			}
		}
		words = append(words, w.String())
	}
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// quoted reads from the quote at line[i] on and gives the place after the closing one.
func quoted(w *strings.Builder, line string, i int) (end int, err error) {
	quote := line[i]
	for i++; i < len(line); i++ {
		c := line[i]
		switch {
		case c == quote:
			return i + 1, nil
		case c == '\\' && i+1 < len(line) && quote == '"':
			i++
			if line[i] == 'x' && i+2 < len(line) {
				if b, err := strconv.ParseUint(line[i+1:i+3], 16, 8); err == nil {
					w.WriteByte(byte(b))
					i += 2
					continue
				}
			}
			w.WriteByte(unescape(line[i]))
		case c == '\\' && i+1 < len(line) && line[i+1] == '\'':
			i++
			w.WriteByte('\'')
		default:
			w.WriteByte(c)
		}
	}
	return 0, errors.New("a quote is not closed")
}

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'a':
		return '\a'
	default:
		return c
	}
}

// words gives the command's words.
func (c *Command) words() ([]string, error) {
	switch {
	case c.Command != "" && len(c.Args) > 0:
		return nil, errors.New("give either command or args, not both")
	case len(c.Args) > 0:
		return c.Args, nil
	}
	w, err := splitWords(c.Command)
	if err == nil && len(w) == 0 {
		err = errors.New("is empty; give a command, such as GET __key__")
	}
	return w, err
}

// repeated is one command of a sequence, with how often it is sent in a row.
type repeated struct {
	words []string
	times int
}

// maxSequence bounds the requests of one sequence.
const maxSequence = 1 << 16

// sequence splits words at those that are ";". A number before a command repeats it.
func sequence(words []string) ([]repeated, error) {
	var all []repeated
	total := 0
	for len(words) > 0 {
		end := 0
		for end < len(words) && words[end] != ";" {
			end++
		}
		one := repeated{words: words[:end], times: 1}
		words = words[min(end+1, len(words)):]
		if len(one.words) == 0 {
			return nil, errors.New("has nothing before a ';'; remove it")
		}
		if n, err := strconv.ParseUint(one.words[0], 10, 31); err == nil {
			one.words, one.times = one.words[1:], int(n)
			if len(one.words) == 0 || n == 0 {
				return nil, errors.New("a number before a command repeats it: give a number from 1 on and a command")
			}
		}
		if total += one.times; total > maxSequence {
			return nil, errors.New("has more than " + strconv.Itoa(maxSequence) + " requests in one sequence")
		}
		all = append(all, one)
	}
	return all, nil
}

// appendWords encodes a command.
func appendWords(b []byte, words []string) []byte {
	b = resp.AppendArrayHeader(b, len(words))
	for _, w := range words {
		b = resp.AppendBulkString(b, w)
	}
	return b
}
