package raw

// requestSize is the length of the first of several encoded requests, each an array of
// bulk strings. What is encoded in another way counts whole: an inline command among
// others cannot be told from what follows.
func requestSize(b []byte) int {
	if len(b) == 0 || b[0] != '*' {
		return len(b)
	}
	args, at := number(b, 1)
	for range args {
		if at >= len(b) || b[at] != '$' {
			return len(b)
		}
		var size int
		size, at = number(b, at+1)
		at += size + 2
	}
	if args == 0 || at > len(b) {
		return len(b)
	}
	return at
}

// number reads decimal digits at an offset and gives the offset after their line end.
func number(b []byte, at int) (n, next int) {
	for ; at < len(b) && b[at]-'0' <= 9 && n < 1<<27; at++ {
		n = n*10 + int(b[at]-'0')
	}
	return n, at + 2
}
