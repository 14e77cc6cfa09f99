package evenkeel

import (
	"reflect"
	"slices"
	"strings"
)

// structPlan says which field of a struct takes the value of which key.
type structPlan struct {
	fields map[string]plannedField
	twice  string // a key that two fields at the same depth claim; "" if there is none
}

type plannedField struct {
	index   []int
	name    string // in Go
	typ     reflect.Type
	nilable bool // a null becomes nil instead of being passed over
}

// newStructPlan reads the tags of a struct type; see Reply.Scan.
func newStructPlan(t reflect.Type) *structPlan {
	plan := &structPlan{fields: map[string]plannedField{}}
	clashes := map[string]int{} // key: depth
	var closed []int            // the embedded struct whose fields do not count, since it is a field itself or left out
	for _, f := range reflect.VisibleFields(t) {
		if closed != nil && len(f.Index) > len(closed) && slices.Equal(f.Index[:len(closed)], closed) {
			continue
		}
		tag, _, _ := strings.Cut(f.Tag.Get("redis"), ",")
		if f.Anonymous && (tag == "-" || tag != "" || !isOpen(f.Type)) {
			closed = f.Index
		} else if f.Anonymous {
			continue
		}
		if tag == "-" || !f.IsExported() {
			continue
		}
		if tag == "" {
			tag = f.Name
		}
		if before, ok := plan.fields[tag]; ok && len(before.index) <= len(f.Index) {
			if len(before.index) == len(f.Index) {
				clashes[tag] = len(f.Index)
			}
			continue
		}
		plan.fields[tag] = plannedField{index: f.Index, name: f.Name, typ: f.Type, nilable: isNilable(f.Type)}
	}
	for tag, depth := range clashes {
		if len(plan.fields[tag].index) == depth && (plan.twice == "" || tag < plan.twice) {
			plan.twice = tag
		}
	}
	return plan
}

// isOpen reports whether the fields of an embedded type count as those of the struct around it.
func isOpen(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct && !isLeaf(t)
}

func isNilable(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return true
	default:
		return isAny(t) || t == reflect.TypeFor[Reply]()
	}
}
