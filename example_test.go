package evenkeel_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

// startFake serves a scriptable server in this process, so that the examples need no other.
func startFake() *evenkeeltest.Fake {
	ln, err := evenkeeltest.ListenLoopback()
	if err != nil {
		panic(err)
	}
	return evenkeeltest.NewFake(ln, nil)
}

func ExampleOpen() {
	fake := startFake()
	defer fake.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()

	client, err := evenkeel.Open("redis://" + fake.Addr())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close(ctx)
	fmt.Println(client.Ping(ctx))
	// Output: <nil>
}

func ExampleClient_Do() {
	fake := startFake()
	defer fake.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()

	client, err := evenkeel.Open("redis://" + fake.Addr())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close(ctx)
	if err := client.Do(ctx, "SET", "greeting", "hello").Err(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(client.Do(ctx, "GET", "greeting").Text())
	_, err = client.Do(ctx, "GET", "missing").Text()
	fmt.Println(errors.Is(err, evenkeel.ErrNil))
	// Output:
	// hello <nil>
	// true
}

func ExampleClient_Pipeline() {
	fake := startFake()
	defer fake.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()

	client, err := evenkeel.Open("redis://" + fake.Addr())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close(ctx)
	p := client.Pipeline()
	p.Do("INCR", "visits")
	p.Do("INCR", "visits")
	replies, err := p.Exec(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range replies {
		fmt.Println(r.Int())
	}
	// Output:
	// 1 <nil>
	// 2 <nil>
}

// Read under WATCH, write in MULTI … EXEC, and begin again when somebody else has written in between: EXEC is then a null.
func ExampleClient_WithConn() {
	fake := startFake()
	defer fake.Close()
	fake.Handle("WATCH", func(*evenkeeltest.Request) evenkeeltest.Reply { return evenkeeltest.OK() })
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()

	client, err := evenkeel.Open("redis://" + fake.Addr())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close(ctx)
	if err := client.Do(ctx, "SET", "stock", 10).Err(); err != nil {
		fmt.Println(err)
		return
	}
	take := func(conn *evenkeel.Conn) error {
		if err := conn.Do(ctx, "WATCH", "stock").Err(); err != nil {
			return err
		}
		n, err := conn.Do(ctx, "GET", "stock").Int()
		if err != nil {
			return err
		}
		p := conn.Pipeline()
		p.Do("MULTI")
		p.Do("SET", "stock", n-1)
		p.Do("EXEC")
		replies, err := p.Exec(ctx)
		if err != nil {
			return err
		}
		return replies[len(replies)-1].Err() // ErrNil: somebody else wrote
	}
	for {
		if err = client.WithConn(ctx, take); !errors.Is(err, evenkeel.ErrNil) {
			break
		}
	}
	fmt.Println(err)
	fmt.Println(client.Do(ctx, "GET", "stock").Int())
	// Output:
	// <nil>
	// 9 <nil>
}

func ExampleMayHaveRun() {
	fake := startFake()
	defer fake.Close()
	fake.Handle("INCR", func(*evenkeeltest.Request) evenkeeltest.Reply { return evenkeeltest.Hangup() })
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()

	client, err := evenkeel.Open("redis://" + fake.Addr())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close(ctx)
	err = client.Do(ctx, "INCR", "visits").Err() // the server goes away instead of answering
	fmt.Println(err != nil, evenkeel.MayHaveRun(err))
	err = client.Do(ctx, "NOSUCH").Err() // the server refuses
	fmt.Println(err != nil, evenkeel.MayHaveRun(err))
	// Output:
	// true true
	// true false
}

const readmeProgram = `package main

import (
	"context"
	"fmt"
	"log"

	"github.com/evenkeel-go/evenkeel"
)

`

// TestReadmeProgram keeps the program in README.md equal to the body of program below.
func TestReadmeProgram(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, body, found := strings.Cut(string(source), "\nfunc program("+"url string) (string, error) {\n")
	if !found {
		t.Fatal("no func program in example_test.go")
	}
	body, _, _ = strings.Cut(body, "\n}\n")
	want := readmeProgram + "func program(url string) (string, error) {\n" + body + `
}

func main() {
	text, err := program("redis://localhost:6379")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(text)
}
`
	if !strings.Contains(string(readme), "```go\n"+want+"```") {
		t.Errorf("README.md does not hold this program:\n%s", want)
	}
}

func Example() {
	fake := startFake()
	defer fake.Close()
	text, err := program("redis://" + fake.Addr())
	fmt.Println(text, err)
	// Output: hello <nil>
}

func program(url string) (string, error) {
	ctx := context.Background()
	client, err := evenkeel.Open(url)
	if err != nil {
		return "", err
	}
	defer client.Close(ctx)
	if err := client.Do(ctx, "SET", "greeting", "hello").Err(); err != nil {
		return "", err
	}
	return client.Do(ctx, "GET", "greeting").Text()
}
