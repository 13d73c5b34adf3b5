// Package host says where benchmarks are run: on which machine, of which build, and in which environment.
package host

import (
	"bufio"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"github.com/wherryhq/wherry/bench/document"
)

// A Probe looks at a machine. Its methods return "unknown", or zero, for what cannot be found out.
type Probe struct {
	// Files is the file system of the machine, from its root.
	Files fs.FS
	// Output runs a program and returns what it writes. It fails if the program is missing, or fails.
	Output func(ctx context.Context, program string, args ...string) (string, error)
}

// Here looks at this machine.
func Here() Probe { return Probe{os.DirFS("/"), output} }

func output(ctx context.Context, program string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, program, args...).Output()
	return strings.TrimSpace(string(out)), err
}

// Host is what the machine is and what it runs.
func (p Probe) Host(ctx context.Context) document.Host {
	processors := p.processors()
	h := document.Host{
		CPU:           processors.model,
		Architecture:  runtime.GOARCH,
		FrequencyMHz:  p.frequency(processors),
		PhysicalCores: len(processors.cores),
		LogicalCores:  processors.logical,
		MemoryBytes:   p.memory(),
		MemorySpeed:   p.memorySpeed(ctx),
		OS:            known(p.fields("etc/os-release", "=")["PRETTY_NAME"]),
		Kernel:        known(p.text("proc/sys/kernel/osrelease")),
	}
	if h.LogicalCores == 0 {
		h.LogicalCores = runtime.NumCPU()
	}
	return h
}

// processors is what Linux says of them.
type processors struct {
	model   string
	mhz     float64
	logical int
	cores   map[[2]string]bool // the physical ones, by package and number
}

func (p Probe) processors() processors {
	found := processors{model: document.Unknown, cores: map[[2]string]bool{}}
	for block := range strings.SplitSeq(p.text("proc/cpuinfo"), "\n\n") {
		fields := split(block, ":")
		if _, ok := fields["processor"]; !ok {
			continue
		}
		found.logical++
		if model := fields["model name"]; model != "" {
			found.model = model
		} else if part := fields["CPU part"]; part != "" && found.model == document.Unknown {
			// ARM has numbers in place of names.
			found.model = "implementer " + fields["CPU implementer"] + " part " + part
		}
		if mhz, err := strconv.ParseFloat(fields["cpu MHz"], 64); err == nil {
			found.mhz = max(found.mhz, mhz)
		}
		if core, ok := fields["core id"]; ok {
			found.cores[[2]string{fields["physical id"], core}] = true
		}
	}
	return found
}

// frequency is the highest that the processors may run at, or else the highest that they run at now.
func (p Probe) frequency(now processors) int {
	if khz, err := strconv.Atoi(p.text("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq")); err == nil {
		return khz / 1000
	}
	return int(now.mhz)
}

func (p Probe) memory() int64 {
	kib, err := strconv.ParseInt(strings.TrimSuffix(p.fields("proc/meminfo", ":")["MemTotal"], " kB"), 10, 64)
	if err != nil {
		return 0
	}
	return kib << 10
}

// memorySpeed is known to dmidecode, which mostly asks for rights that nobody should need for a benchmark.
func (p Probe) memorySpeed(ctx context.Context) string {
	out, err := p.Output(ctx, "dmidecode", "--type", "memory")
	if err != nil {
		return document.Unknown
	}
	speed := ""
	for line := range strings.SplitSeq(out, "\n") {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		configured := name == "Configured Memory Speed" || name == "Configured Clock Speed"
		if configured || name == "Speed" && speed == "" {
			if value != "" && value != "Unknown" {
				speed = value
			}
		}
	}
	return known(speed)
}

func (p Probe) text(name string) string {
	data, err := fs.ReadFile(p.Files, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

func (p Probe) fields(name, separator string) map[string]string {
	return split(p.text(name), separator)
}

// split reads lines of a name, a separator and a value, which may stand in quotes. The first of a name counts.
func split(text, separator string) map[string]string {
	fields := map[string]string{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), separator)
		name = strings.TrimSpace(name)
		if _, seen := fields[name]; ok && !seen {
			fields[name] = strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return fields
}

func known(s string) string {
	if s == "" {
		return document.Unknown
	}
	return s
}
