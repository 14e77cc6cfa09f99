package bench

import (
	"context"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/evenkeel-go/evenkeel/report"
)

// ServerKind says whose server was measured.
type ServerKind string

// The kinds of server.
const (
	// ServerGiven is one the user named.
	ServerGiven ServerKind = "given"
	// ServerPrivate was started for the run.
	ServerPrivate ServerKind = "private"
	// ServerEmbedded runs in the client's own process, so that times mislead
	// and only counts mean something.
	ServerEmbedded ServerKind = "embedded"
)

// Environment says where numbers were taken, without which they mean nothing.
type Environment struct {
	// Time is when the run began, in UTC.
	Time time.Time `json:"time"`
	// Evenkeel is this program's version.
	Evenkeel string `json:"evenkeel"`
	// Go is the toolchain's version; OS and Arch are the platform.
	Go   string `json:"go"`
	OS   string `json:"os"`
	Arch string `json:"arch"`
	// CPUs is how many the process may use.
	CPUs int `json:"cpus"`
	// ServerKind says whose server it was.
	ServerKind ServerKind `json:"server_kind"`
	// Server is the software, such as "redis" or "valkey"; empty if unknown.
	Server string `json:"server"`
	// ServerVersion is its version; empty if unknown.
	ServerVersion string `json:"server_version"`
	// ServerConfig are settings of the server that change what it can do (save, appendonly,
	// maxmemory, maxmemory-policy, io-threads); empty where it does not tell.
	ServerConfig map[string]string `json:"server_config,omitempty"`
	// Kernel is the operating system's release, and CPU the processor's name; empty where
	// they are not known.
	Kernel string `json:"kernel,omitempty"`
	CPU    string `json:"cpu,omitempty"`
	// Address is the target without its password; empty for a private server.
	Address string `json:"address,omitempty"`
}

// NewEnvironment describes this process; the caller adds what the server says.
func NewEnvironment(now time.Time) Environment {
	kernel, cpu := machine()
	return Environment{
		Kernel: kernel, CPU: cpu,
		Time:     now.UTC().Truncate(time.Second),
		Evenkeel: Version(),
		Go:       runtime.Version(),
		OS:       runtime.GOOS,
		Arch:     runtime.GOARCH,
		CPUs:     runtime.GOMAXPROCS(0),
	}
}

// machine names the kernel and the processor, where the system says so in files.
func machine() (kernel, cpu string) {
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		kernel = strings.TrimSpace(string(text))
	}
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return kernel, ""
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return kernel, strings.TrimSpace(value)
		}
	}
	return kernel, ""
}

// settings are those of ServerConfig.
func (w *watcher) settings(ctx context.Context) map[string]string {
	found := map[string]string{}
	for _, name := range []string{"save", "appendonly", "maxmemory", "maxmemory-policy", "io-threads"} {
		// CONFIG is often forbidden or renamed: then there is nothing to tell.
		if r, err := w.do(ctx, "CONFIG", "GET", name); err == nil {
			if m, err := r.Map(); err == nil {
				maps.Copy(found, m)
			}
		}
	}
	return found
}

// Version returns the version of this program as the Go toolchain recorded it:
// the module's version, or "devel" with the revision it was built from.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	const module = "github.com/evenkeel-go/evenkeel"
	if info.Main.Path != module {
		for _, dep := range info.Deps {
			if dep.Path == module {
				return dep.Version
			}
		}
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "devel " + s.Value[:min(12, len(s.Value))]
		}
	}
	return "devel"
}

// facts lists the environment for a page.
func (e Environment) facts() []report.Fact {
	server := e.Server
	if server == "" {
		server = "unknown software"
	}
	if e.ServerVersion != "" {
		server += " " + e.ServerVersion
	}
	switch e.ServerKind {
	case ServerPrivate:
		server += ", private, on the same machine as the load"
	case ServerEmbedded:
		server += ", embedded in this process: trust the counts, not the times"
	case ServerGiven:
		server += " at " + e.Address
	}
	facts := []report.Fact{{Name: "server", Value: server}}
	if len(e.ServerConfig) > 0 {
		var settings []string
		for _, name := range slices.Sorted(maps.Keys(e.ServerConfig)) {
			settings = append(settings, name+" "+strconv.Quote(e.ServerConfig[name]))
		}
		facts = append(facts, report.Fact{Name: "settings", Value: strings.Join(settings, ", ")})
	}
	client := "Evenkeel " + e.Evenkeel + ", " + e.Go + ", " + e.OS + "/" + e.Arch + ", " + strconv.Itoa(e.CPUs) + " CPUs"
	if e.CPU != "" {
		client += " (" + e.CPU + ")"
	}
	if e.Kernel != "" {
		client += ", kernel " + e.Kernel
	}
	return append(facts, report.Fact{Name: "client", Value: client}, report.Fact{Name: "time", Value: e.Time.Format("2006-01-02 15:04:05 MST")})
}
