package evenkeel

import (
	"errors"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// scanned is what Scan makes of a reply, in a new T.
func scanned[T any](t *testing.T, wire string) (T, error) {
	t.Helper()
	var dst T
	err := replyOf(t, wire).Scan(&dst)
	return dst, err
}

func wantScan[T any](t *testing.T, wire string, want T) {
	t.Helper()
	got, err := scanned[T](t, wire)
	if err != nil {
		t.Errorf("%q into %T: %v", wire, want, err)
		return
	}
	equal := cmp.Options{cmpopts.EquateNaNs(), cmp.Comparer(func(a, b *big.Int) bool { return a.Cmp(b) == 0 }), cmpopts.EquateComparable(netip.Addr{})}
	if diff := cmp.Diff(want, got, equal); diff != "" {
		t.Errorf("%q into %T (-want +got):\n%s", wire, want, diff)
	}
}

func wantMisfit[T any](t *testing.T, wire, want string) {
	t.Helper()
	got, err := scanned[T](t, wire)
	if _, ok := errors.AsType[*ConversionError](err); !ok {
		t.Errorf("%q into %T: %v, want a ConversionError", wire, got, err)
		return
	}
	if text := strings.TrimPrefix(err.Error(), "evenkeel: reply"); text != want {
		t.Errorf("%q into %T:\n got %q\nwant %q", wire, got, text, want)
	}
}

type (
	myString string
	myInt    int16
	myBytes  []byte
	myByte   byte
)

func TestScanScalars(t *testing.T) {
	wantScan(t, "$3\r\nabc\r\n", "abc")
	wantScan(t, ":5\r\n", "5")
	wantScan(t, "$3\r\nabc\r\n", []byte("abc"))
	wantScan(t, "$0\r\n\r\n", []byte{})
	wantScan(t, "$3\r\nabc\r\n", myBytes("abc"))
	wantScan(t, "$1\r\na\r\n", []myByte{'a'})
	wantScan(t, "$3\r\nabc\r\n", myString("abc"))
	wantScan(t, "$4\r\n-128\r\n", int8(-128))
	wantScan(t, ":7\r\n", myInt(7))
	wantScan(t, "$20\r\n18446744073709551615\r\n", uint64(18446744073709551615))
	wantScan(t, ":255\r\n", uint8(255))
	wantScan(t, ",1.5\r\n", float32(1.5))
	wantScan(t, "$3\r\n1.5\r\n", 1.5)
	wantScan(t, "#t\r\n", true)
	wantScan(t, "+OK\r\n", true)

	wantMisfit[int8](t, ":128\r\n", " is an integer, which cannot be read as int8: it is out of range")
	wantMisfit[uint16](t, "$5\r\n65536\r\n", " is a bulk string of 5 bytes, which cannot be read as uint16: it is out of range")
	wantMisfit[uint](t, ":-1\r\n", " is an integer, which cannot be read as uint: it is negative")
	wantMisfit[float32](t, ",1e39\r\n", " is a double, which cannot be read as float32: it is out of range")
	wantMisfit[bool](t, "$2\r\nno\r\n", " is a bulk string of 2 bytes, which cannot be read as bool: only 1, 0, true, false and OK are booleans")
	wantMisfit[string](t, "*1\r\n:1\r\n", " is an array of 1 element, which cannot be read as string")
	wantMisfit[[]byte](t, "*1\r\n:300\r\n", "[0] is an integer, which cannot be read as uint8: it is out of range")
	wantMisfit[time.Duration](t, ":5\r\n", " is an integer, which cannot be read as time.Duration: the unit of a number differs from command to command; scan into an int64 and multiply")
	wantMisfit[chan int](t, ":5\r\n", " is an integer, which cannot be read as chan int: replies do not convert to this type")
	wantMisfit[error](t, ":5\r\n", " is an integer, which cannot be read as error: replies do not convert to this type")
}

func TestScanNulls(t *testing.T) {
	for _, wire := range []string{"_\r\n", "$-1\r\n", "*-1\r\n"} {
		kept := "kept"
		if err := replyOf(t, wire).Scan(&kept); !errors.Is(err, ErrNil) || kept != "kept" {
			t.Errorf("%q into a string: %v, %q", wire, err, kept)
		}
		list := []string{"kept"}
		if err := replyOf(t, wire).Scan(&list); !errors.Is(err, ErrNil) || len(list) != 1 {
			t.Errorf("%q into a list: %v, %q", wire, err, list)
		}
		pointer := &kept
		if err := replyOf(t, wire).Scan(&pointer); err != nil || pointer != nil {
			t.Errorf("%q into a pointer: %v, %v", wire, err, pointer)
		}
		var untyped any = 1
		if err := replyOf(t, wire).Scan(&untyped); err != nil || untyped != nil {
			t.Errorf("%q into an any: %v, %v", wire, err, untyped)
		}
		var raw Reply
		if err := replyOf(t, wire).Scan(&raw); err != nil || !raw.IsNil() {
			t.Errorf("%q into a Reply: %v, %v", wire, err, raw)
		}
	}
	a := "a"
	wantScan(t, "*2\r\n$1\r\na\r\n$-1\r\n", []*string{&a, nil})
	wantScan(t, "*2\r\n$1\r\na\r\n$-1\r\n", []any{"a", nil})
	wantScan(t, "*2\r\n$1\r\na\r\n$-1\r\n", [][]byte{[]byte("a"), nil})
	// Null arrays and empty ones stay apart.
	wantScan(t, "*3\r\n*-1\r\n*0\r\n*1\r\n:1\r\n", [][]int{nil, {}, {1}})
	wantMisfit[[]string](t, "*2\r\n$1\r\na\r\n$-1\r\n", "[1] is a null, which cannot be read as string: Slice shows nulls, and so does Scan into pointers")
}

func TestScanLists(t *testing.T) {
	wantScan(t, "*3\r\n:1\r\n$1\r\n2\r\n,3\r\n", []int{1, 2, 3})
	wantScan(t, "~2\r\n+a\r\n+b\r\n", []string{"a", "b"})
	wantScan(t, "*0\r\n", []string{})
	wantScan(t, "%1\r\n+a\r\n:1\r\n", []string{"a", "1"})
	wantScan(t, "*2\r\n:1\r\n:2\r\n", [2]int{1, 2})
	wantScan(t, "*2\r\n*1\r\n:1\r\n*0\r\n", [][]int{{1}, {}})
	wantScan(t, "*2\r\n:1\r\n+x\r\n", []any{int64(1), "x"})
	for _, form := range []string{"%2\r\n+b\r\n:1\r\n+a\r\n:2\r\n", "*4\r\n+b\r\n:1\r\n+a\r\n:2\r\n", "*2\r\n*2\r\n+b\r\n:1\r\n*2\r\n+a\r\n:2\r\n"} {
		wantScan(t, form, [][2]string{{"b", "1"}, {"a", "2"}})
		wantScan(t, form, map[string]int{"b": 1, "a": 2})
	}
	wantScan(t, "*0\r\n", [][2]string{})
	wantMisfit[[3]int](t, "*2\r\n:1\r\n:2\r\n", " is an array of 2 elements, which cannot be read as [3]int: the lengths differ")
	wantMisfit[[]int](t, "*2\r\n:1\r\n$2\r\nxy\r\n", "[1] is a bulk string of 2 bytes, which cannot be read as int: it is not a decimal integer")
	wantMisfit[[][]int](t, "*1\r\n*2\r\n:1\r\n-ERR secret\r\n", "[0][1] is an error, which cannot be read as int: the server said ERR")
	wantMisfit[[]int](t, "$1\r\n1\r\n", " is a bulk string of 1 byte, which cannot be read as []int")
	wantMisfit[[][2]string](t, "*3\r\n+b\r\n:1\r\n+a\r\n", " is an array of 3 elements, which cannot be read as [][2]string: a flat list of pairs has an even length")

	var rest []Reply
	if err := replyOf(t, "*2\r\n:1\r\n-ERR x\r\n").Scan(&rest); err != nil || rest[0].Kind() != "integer" || rest[1].Err() == nil {
		t.Errorf("into Replies, errors stay with their elements: %v, %v", rest, err)
	}
	var untyped []any
	err := replyOf(t, "*1\r\n-ERR x\r\n").Scan(&untyped)
	if _, ok := untyped[0].(*ServerError); err != nil || !ok {
		t.Errorf("into anys, errors are elements: %v, %v", untyped, err)
	}
}

func TestScanMaps(t *testing.T) {
	wantScan(t, "%1\r\n:3\r\n,inf\r\n", map[int]string{3: "inf"})
	wantScan(t, "%1\r\n+10.0.0.1\r\n*1\r\n:1\r\n", map[netip.Addr][]int{netip.MustParseAddr("10.0.0.1"): {1}})
	wantScan(t, "%1\r\n+a\r\n%1\r\n+b\r\n:1\r\n", map[string]map[string]int{"a": {"b": 1}})
	wantScan(t, "%1\r\n+a\r\n_\r\n", map[string]*int{"a": nil})
	wantScan(t, "%1\r\n+a\r\n_\r\n", map[string]any{"a": nil})
	wantMisfit[map[string]int](t, "%2\r\n+a\r\n:1\r\n+b\r\n+secret\r\n", "{1} is a simple string of 6 bytes, which cannot be read as int: it is not a decimal integer")
	wantMisfit[map[int]int](t, "%1\r\n+secret\r\n:1\r\n", "{0 key} is a simple string of 6 bytes, which cannot be read as int: it is not a decimal integer")
	wantMisfit[map[string]int](t, "*3\r\n+a\r\n:1\r\n+b\r\n", " is an array of 3 elements, which cannot be read as map[string]int: a flat list of pairs has an even length")
	// A list can become an any, and Go cannot hash it.
	wantMisfit[map[any]int](t, "%1\r\n*1\r\n:1\r\n:1\r\n", "{0 key} is an array of 1 element, which cannot be read as interface {}: it cannot be the key of a map")
}

type base struct {
	ID   int    `redis:"id"`
	Name string `redis:"name"` // covered by the one of user
}

type Audit struct {
	By string `redis:"by"`
}

type user struct {
	base
	*Audit
	Name    string            `redis:"name"`
	Age     int8              `redis:"age,omitempty"`
	Email   *string           `redis:"email"`
	Seen    time.Time         `redis:"seen"`
	Tags    []string          `redis:"tags"`
	Extra   map[string]string `redis:"extra"`
	Score   float64           // by its Go name
	Skipped string            `redis:"-"`
	hidden  string            `redis:"hidden"` // a tag does not open it
	Home    struct {
		City string `redis:"city"`
	} `redis:"home"`
}

func TestScanStructs(t *testing.T) {
	mail := "a@b"
	want := user{
		base: base{ID: 7}, Audit: &Audit{By: "root"}, Name: "Ann", Age: 41, Email: &mail, Seen: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Tags: []string{"x"}, Score: 2.5,
	}
	want.Home.City = "Kiel"
	fields := []string{
		"+id\r\n", ":7\r\n", "+by\r\n", "+root\r\n", "+name\r\n", "+Ann\r\n", "+age\r\n", "$2\r\n41\r\n", "+email\r\n", "+a@b\r\n", "+seen\r\n", "+2026-01-02T03:04:05Z\r\n",
		"+tags\r\n", "*1\r\n+x\r\n", "+Score\r\n", ",2.5\r\n", "+home\r\n", "%1\r\n+city\r\n+Kiel\r\n", "+unknown\r\n", "*0\r\n", "+Skipped\r\n", "+x\r\n", "+-\r\n", "+x\r\n",
		"+hidden\r\n", "+x\r\n",
	}
	for _, header := range []string{"%13\r\n", "*26\r\n"} {
		got, err := scanned[user](t, header+strings.Join(fields, ""))
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(user{}), cmpopts.EquateComparable()); diff != "" || err != nil || got.hidden != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	wantScan(t, "*2\r\n%1\r\n+by\r\n+a\r\n*2\r\n+by\r\n+b\r\n", []Audit{{"a"}, {"b"}})
	wantScan(t, "*2\r\n%1\r\n+by\r\n+a\r\n_\r\n", []*Audit{{"a"}, nil})
	wantScan(t, "%1\r\n+k\r\n%1\r\n+by\r\n+a\r\n", map[string]Audit{"k": {"a"}})

	// What the reply does not have, or has as a null, stays.
	kept := user{Name: "kept", Age: 5, Email: &mail, Tags: []string{"old"}}
	if err := replyOf(t, "%3\r\n+age\r\n_\r\n+email\r\n_\r\n+tags\r\n_\r\n").Scan(&kept); err != nil || kept.Name != "kept" || kept.Age != 5 || kept.Email != nil || kept.Tags != nil {
		t.Errorf("%v, %+v", err, kept)
	}
	wantMisfit[[]user](t, "*1\r\n%1\r\n+age\r\n$3\r\n999\r\n", "[0].Age is a bulk string of 3 bytes, which cannot be read as int8: it is out of range")
	wantMisfit[user](t, "%1\r\n+home\r\n%1\r\n+city\r\n*0\r\n", ".Home.City is an array of 0 elements, which cannot be read as string")
	wantMisfit[user](t, "+x\r\n", " is a simple string of 1 byte, which cannot be read as evenkeel.user")
	wantMisfit[user](t, "%1\r\n*0\r\n:1\r\n", "{0 key} is an array of 0 elements, which cannot be read as the name of a field")
	wantMisfit[user](t, "%1\r\n+age\r\n-NOPERM secret\r\n", ".Age is an error, which cannot be read as int8: the server said NOPERM")
}

func TestScanStructsThatCannotBe(t *testing.T) {
	type left struct {
		A int `redis:"a"`
	}
	type right struct {
		B int `redis:"a"`
	}
	type both struct {
		left
		right
	}
	wantMisfit[both](t, "%0\r\n", ` is a map of 0 pairs, which cannot be read as evenkeel.both: two of its fields are named "a"`)
	type settled struct {
		left
		right
		C int `redis:"a"`
	}
	wantScan(t, "%1\r\n+a\r\n:1\r\n", struct{ A int }{})
	if got, err := scanned[settled](t, "%1\r\n+a\r\n:1\r\n"); err != nil || got.C != 1 || got.A != 0 || got.B != 0 {
		t.Errorf("the outer field settles it: %+v, %v", got, err)
	}
	type behind struct{ *left }
	wantMisfit[behind](t, "%1\r\n+a\r\n:1\r\n", ".A is an integer, which cannot be read as int: it is behind a nil pointer to an unexported embedded struct")
	if got := (behind{&left{}}); replyOf(t, "%1\r\n+a\r\n:1\r\n").Scan(&got) != nil || got.A != 1 {
		t.Errorf("a pointer that is set can be followed: %+v", got.left)
	}
	type tagged struct {
		left  `redis:"-"`
		Audit `redis:"audit"`
	}
	if got, err := scanned[tagged](t, "%3\r\n+a\r\n:1\r\n+by\r\n+x\r\n+audit\r\n%1\r\n+by\r\n+y\r\n"); err != nil || got.A != 0 || got.By != "y" {
		t.Errorf("an embedded struct with a tag is a field: %+v, %v", got, err)
	}
	type recursive struct {
		*recursive
		N    int        `redis:"n"`
		Next *recursive `redis:"next"`
	}
	if got, err := scanned[recursive](t, "%2\r\n+n\r\n:1\r\n+next\r\n%1\r\n+n\r\n:2\r\n"); err != nil || got.recursive != nil || got.N != 1 || got.Next.N != 2 {
		t.Errorf("recursive: %+v, %v", got, err)
	}
	type endless *endless
	wantMisfit[endless](t, ":1\r\n", " is an integer, which cannot be read as evenkeel.endless: replies do not convert to this type")
}

type binary struct{ data string }

func (b *binary) UnmarshalBinary(data []byte) error {
	if string(data) == "secret" {
		return errors.New("bad: secret")
	}
	b.data = string(data)
	return nil
}

func TestScanUnmarshalers(t *testing.T) {
	wantScan(t, "(123456789012345678901234567890\r\n", func() *big.Int { n, _ := new(big.Int).SetString("123456789012345678901234567890", 10); return n }())
	wantScan(t, ":5\r\n", big.NewInt(5))
	wantScan(t, "$9\r\n127.0.0.1\r\n", netip.MustParseAddr("127.0.0.1"))
	wantMisfit[[]time.Time](t, "*1\r\n$3\r\nabc\r\n", "[0] is a bulk string of 3 bytes, which cannot be read as time.Time: the type's own unmarshaling refused it; the wrapped error says why")
	if got, err := scanned[*binary](t, "$3\r\nabc\r\n"); err != nil || got.data != "abc" {
		t.Errorf("UnmarshalBinary: %+v, %v", got, err)
	}
	_, err := scanned[[]binary](t, "*1\r\n$6\r\nsecret\r\n")
	var bad *ConversionError
	if !errors.As(err, &bad) || bad.Path != "[0]" || bad.Err == nil || bad.Err.Error() != "bad: secret" || strings.Contains(err.Error(), "secret") {
		t.Errorf("a refusal is the cause, and its text stays out of the error: %v", err)
	}
	wantMisfit[netip.Addr](t, "*0\r\n", " is an array of 0 elements, which cannot be read as netip.Addr")
}

func TestScanNeedsAVariable(t *testing.T) {
	for _, dst := range []any{nil, 1, "s", (*int)(nil), map[string]int{}, []int{1}, struct{}{}} {
		if err := replyOf(t, ":1\r\n").Scan(dst); !errors.Is(err, ErrUsage) {
			t.Errorf("into %T: %v", dst, err)
		}
	}
}

// TestScanSharesNothing: two scans of one reply can be changed apart.
func TestScanSharesNothing(t *testing.T) {
	r := replyOf(t, "*1\r\n$3\r\nabc\r\n")
	var first, second [][]byte
	if err := errors.Join(r.Scan(&first), r.Scan(&second)); err != nil {
		t.Fatal(err)
	}
	first[0][0] = 'X'
	if string(second[0]) != "abc" {
		t.Errorf("the second is %q", second[0])
	}
}
