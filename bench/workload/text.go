package workload

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseDist reads a distribution of keys as a command line gives it: "uniform", "sequential", "zipf:0.99", "gaussian:MEAN,STDDEV" (in keys), or
// "hotset:0.01=0.7,0.1=0.9" (1 % of the keys get 70 % of the requests, 10 % get 90 %). What the numbers may be, Workload.Validate says.
func ParseDist(text string) (Dist, error) {
	kind, rest, given := strings.Cut(text, ":")
	d := Dist{Kind: DistKind(kind)}
	wrong := fmt.Errorf("%q is no distribution of keys; give uniform, sequential, zipf:0.99, gaussian:5000,1000 or hotset:0.01=0.7,0.1=0.9", text)
	switch d.Kind {
	case Uniform, Sequential:
		if given {
			return Dist{}, wrong
		}
	case Zipf:
		numbers, err := parseNumbers(rest, 1)
		if err != nil {
			return Dist{}, wrong
		}
		d.Exponent = numbers[0]
	case Gaussian:
		numbers, err := parseNumbers(rest, 2)
		if err != nil {
			return Dist{}, wrong
		}
		d.Mean, d.StdDev = numbers[0], numbers[1]
	case HotSet:
		for step := range strings.SplitSeq(rest, ",") {
			keys, requests, _ := strings.Cut(step, "=")
			numbers, err := parseNumbers(keys+","+requests, 2)
			if err != nil {
				return Dist{}, wrong
			}
			d.Steps = append(d.Steps, HotStep{Keys: numbers[0], Requests: numbers[1]})
		}
	default:
		return Dist{}, wrong
	}
	return d, nil
}

// ParseSize reads a distribution of sizes as a command line gives it: "100" (bytes), "64-1024" (each size between alike), or "100=9,4096=1" (by weight). A
// file of a workload has more of them.
func ParseSize(text string) (Size, error) {
	wrong := fmt.Errorf("%q is no size; give bytes such as 100, a range such as 64-1024, or sizes with weights such as 100=9,4096=1", text)
	if strings.Contains(text, "=") {
		s := Size{Kind: List}
		for part := range strings.SplitSeq(text, ",") {
			size, weight, _ := strings.Cut(part, "=")
			n, err := strconv.ParseInt(size, 10, 64)
			w, weightErr := strconv.ParseFloat(weight, 64)
			if err != nil || weightErr != nil {
				return Size{}, wrong
			}
			s.List = append(s.List, WeightedSize{Bytes: n, Weight: w})
		}
		return s, nil
	}
	low, high, isRange := strings.Cut(text, "-")
	least, err := strconv.ParseInt(low, 10, 64)
	if err != nil {
		return Size{}, wrong
	}
	if !isRange {
		return Size{Bytes: least}, nil
	}
	most, err := strconv.ParseInt(high, 10, 64)
	if err != nil {
		return Size{}, wrong
	}
	return Size{Kind: Range, Min: least, Max: most}, nil
}

// parseNumbers reads so many numbers with commas between.
func parseNumbers(text string, want int) ([]float64, error) {
	parts := strings.Split(text, ",")
	if len(parts) != want {
		return nil, fmt.Errorf("want %d numbers", want)
	}
	numbers := make([]float64, want)
	for i, part := range parts {
		n, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil {
			return nil, err
		}
		numbers[i] = n
	}
	return numbers, nil
}
