package bench

import (
	"runtime"
	"runtime/debug"
	"strconv"
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
	// Address is the target without its password; empty for a private server.
	Address string `json:"address,omitempty"`
}

// NewEnvironment describes this process; the caller adds what the server says.
func NewEnvironment(now time.Time) Environment {
	return Environment{
		Time:     now.UTC().Truncate(time.Second),
		Evenkeel: Version(),
		Go:       runtime.Version(),
		OS:       runtime.GOOS,
		Arch:     runtime.GOARCH,
		CPUs:     runtime.GOMAXPROCS(0),
	}
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
	return []report.Fact{
		{Name: "server", Value: server},
		{Name: "client", Value: "Evenkeel " + e.Evenkeel + ", " + e.Go + ", " + e.OS + "/" + e.Arch + ", " + strconv.Itoa(e.CPUs) + " CPUs"},
		{Name: "time", Value: e.Time.Format("2006-01-02 15:04:05 MST")},
	}
}
