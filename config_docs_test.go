package evenkeel_test

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// notTuned are the numbers and switches of Config that say what the endpoint is, or serve measurements only.
var notTuned = map[string]bool{"DB": true, "Protocol": true, "HandshakeSequential": true}

// shownDefault is where a cell of the table says the value; what follows explains it.
var shownDefault = regexp.MustCompile(`^(off|[0-9][0-9,]*( (ms|s|min|KiB))?)`)

// TestConfigurationDocs: the tables of docs/configuration.md have every setting, with the default that the code gives it.
func TestConfigurationDocs(t *testing.T) {
	const path = "docs/configuration.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([A-Za-z.]+)` \\| ([^|]+?) \\|").FindAllStringSubmatch(string(text), -1) {
		if _, twice := documented[row[1]]; twice {
			t.Errorf("%s has %s twice", path, row[1])
		}
		documented[row[1]] = row[2]
	}
	tls := documented["DialTimeout"]
	if want := "with TLS " + settingText(evenkeel.DefaultDialTimeoutTLS); !strings.HasSuffix(tls, want) {
		t.Errorf("%s: the default of DialTimeout is %q there, which should end in %q", path, tls, want)
	}
	delete(documented, "Governor") // has no value to compare
	for field, value := range settings(evenkeel.DefaultConfig("localhost:6379")) {
		cell, ok := documented[field]
		if !ok {
			t.Errorf("%s lacks %s", path, field)
			continue
		}
		delete(documented, field)
		shown := shownDefault.FindString(cell)
		if want := settingText(value); shown != want && (shown != "off" || want != "0") {
			t.Errorf("%s: the default of %s is %q there, and %s in the code", path, field, cell, want)
		}
	}
	for field := range documented {
		t.Errorf("%s has %s, which Config has not", path, field)
	}
}

// settings are the numbers, durations and switches of a Config, and of the structs in it, by name.
func settings(c evenkeel.Config) map[string]any {
	found := map[string]any{}
	var walk func(prefix string, v reflect.Value)
	walk = func(prefix string, v reflect.Value) {
		for i := range v.NumField() {
			name := prefix + v.Type().Field(i).Name
			if !v.Type().Field(i).IsExported() || notTuned[name] {
				continue
			}
			switch f := v.Field(i); f.Kind() {
			case reflect.Int, reflect.Int64, reflect.Bool:
				found[name] = f.Interface()
			case reflect.Struct:
				walk(name+".", f)
			default:
			}
		}
	}
	walk("", reflect.ValueOf(c))
	return found
}

// settingText is a value as the documentation writes it.
func settingText(value any) string {
	switch v := value.(type) {
	case time.Duration:
		switch {
		case v == 0:
			return "0"
		case v < time.Second:
			return strconv.FormatInt(v.Milliseconds(), 10) + " ms"
		case v%time.Minute == 0:
			return strconv.FormatInt(int64(v/time.Minute), 10) + " min"
		default:
			return strconv.FormatFloat(v.Seconds(), 'f', -1, 64) + " s"
		}
	case int:
		switch {
		case v >= 1<<10 && v%(1<<10) == 0:
			return strconv.Itoa(v>>10) + " KiB"
		case v >= 1000:
			return fmt.Sprintf("%d,%03d", v/1000, v%1000)
		default:
			return strconv.Itoa(v)
		}
	case bool:
		if v {
			return "on"
		}
		return "off"
	default:
		return fmt.Sprint(v)
	}
}
