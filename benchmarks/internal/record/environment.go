package record

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// Environment is where and with what a run was made.
type Environment struct {
	Date       time.Time `json:"date"`
	Command    []string  `json:"command"` // the arguments of the run
	Go         string    `json:"go"`
	OS         string    `json:"os"`
	Kernel     string    `json:"kernel,omitempty"`
	CPU        string    `json:"cpu,omitempty"`
	CPUs       int       `json:"cpus"`
	GOMAXPROCS int       `json:"gomaxprocs"`
	Server     string    `json:"server,omitempty"` // program and version
	// Modules maps each client's module to its version. Our own is given as the commit
	// it was built from where git can tell.
	Modules map[string]string `json:"modules"`
	// Setup says in one line how each client was set up.
	Setup map[string]string `json:"setup,omitempty"`
	Seed  uint64            `json:"seed"`
}

// Here describes this machine and this build. The clients' versions are those of the
// modules linked in, as far as they are named; args are the arguments of the run.
func Here(ctx context.Context, args, modules []string) Environment {
	env := Environment{
		Date:       time.Now().UTC().Truncate(time.Second),
		Command:    args,
		Go:         runtime.Version(),
		OS:         runtime.GOOS + "/" + runtime.GOARCH,
		Kernel:     firstLine("/proc/sys/kernel/osrelease"),
		CPU:        cpuModel(),
		CPUs:       runtime.NumCPU(),
		GOMAXPROCS: runtime.GOMAXPROCS(0),
		Modules:    map[string]string{},
	}
	info, ok := debug.ReadBuildInfo()
	for _, path := range modules {
		env.Modules[path] = "unknown"
		if !ok {
			continue
		}
		for _, dep := range info.Deps {
			switch {
			case dep.Path != path:
			case dep.Replace != nil:
				env.Modules[path] = checkout(ctx, dep.Replace.Path)
			default:
				env.Modules[path] = dep.Version
			}
		}
	}
	return env
}

// checkout names the commit of a module that is replaced by a directory.
func checkout(ctx context.Context, dir string) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "git", "-C", dir, "describe", "--always", "--dirty", "--abbrev=12").Output()
	if err != nil {
		return "checkout"
	}
	return strings.TrimSpace(string(out))
}

func firstLine(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "" // not on this system
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(line)
}

func cpuModel() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "" // not on this system
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// String is the environment in a few words, for the head of a report.
func (e Environment) String() string {
	cpu := e.CPU
	if cpu == "" {
		cpu = "CPU unknown"
	}
	return fmt.Sprintf("%s, %s, %d CPUs (%s), GOMAXPROCS %d, %s %s, server %s",
		e.Date.Format("2006-01-02 15:04 MST"), e.Go, e.CPUs, cpu, e.GOMAXPROCS, e.OS, e.Kernel, e.Server)
}
