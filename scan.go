package evenkeel

import (
	"encoding"
	"reflect"
	"strconv"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/resp"
)

// Scan stores the reply in the variable that dst points to. By the variable's type:
//
//   - string, []byte, bool, integers and floats of every size, and named types of these: as [Reply.Text], [Reply.Bool], [Reply.Int], [Reply.Uint] and
//     [Reply.Float]; what does not fit into the type's range is an error;
//   - a type whose pointer has UnmarshalText, or else UnmarshalBinary: gets the text, so that time.Time, netip.Addr and big.Int work;
//   - a pointer: a new variable of its type, or nil for a null;
//   - a slice or an array (of equal length): element by element, from an array, a set, a push, or a map as keys and values in turn. Where the elements
//     are [2]T, a map and its forms under RESP2 become pairs, in the server's order;
//   - a map: from everything that [Reply.Map] reads;
//   - a struct: likewise, each value into the field whose tag, as in `redis:"name"`, is the key. A field without a tag goes by its Go name; `redis:"-"`
//     leaves it out. Fields of embedded structs count as the struct's own, unless the embedded struct has a tag. Keys without a field are ignored, fields
//     without a key stay as they are, and so do fields whose value is a null and that cannot be nil;
//   - any: as [Reply.Any];
//   - Reply: as it came, whatever it is.
//
// So a []struct takes an array of maps. A time.Duration is refused: whether its number means seconds or milliseconds depends on the command.
//
// A null reply is [ErrNil], and dst stays as it is, unless the variable is a pointer, an any or a Reply. Inside a reply, a null makes a pointer, a slice, a
// map or an any nil, and is an error in anything else but the field of a struct.
//
// Errors are those of the getters; a [ConversionError] tells the place. What was stored before an error stays stored. A dst that is no pointer, or a nil one,
// is [ErrUsage].
func (r Reply) Scan(dst any) error {
	target := reflect.ValueOf(dst)
	switch {
	case target.Kind() != reflect.Pointer:
		return usage("Scan needs a pointer to the variable to fill, not %T", dst)
	case target.IsNil():
		return usage("Scan needs a variable to fill, and the %T is nil", dst)
	}
	if raw, ok := dst.(*Reply); ok && r.err == nil {
		*raw = r
		return nil
	}
	if err := r.Err(); err != nil {
		return err
	}
	target = target.Elem()
	if r.v.IsNull() && target.Kind() != reflect.Pointer && !isAny(target.Type()) {
		return ErrNil
	}
	var s scanner
	if bad := s.store(&r.v, target); bad != nil {
		return bad
	}
	return nil
}

// maxPointers is how many pointers to pointers are followed: a type can be a pointer to itself.
const maxPointers = 8

// scanner stores the values of one reply. It keeps what it has learned about struct types for as long as the Scan lasts: rows of one reply share it, and
// nothing outlives the call.
type scanner struct {
	plans map[reflect.Type]*structPlan
}

// store puts v into dst, which is addressable. Recursion is bounded by the depth of v, which the parser bounds.
func (s *scanner) store(v *resp.Value, dst reflect.Value) *ConversionError {
	for range maxPointers {
		if dst.Kind() != reflect.Pointer {
			return s.storeValue(v, dst)
		}
		if v.IsNull() {
			dst.SetZero()
			return nil
		}
		if dst.IsNil() {
			dst.Set(reflect.New(dst.Type().Elem()))
		}
		dst = dst.Elem()
	}
	return newConversionError(v, dst.Type().String(), noConversion)
}

func (s *scanner) storeValue(v *resp.Value, dst reflect.Value) *ConversionError {
	t := dst.Type()
	switch {
	case t == reflect.TypeFor[Reply]():
		*dst.Addr().Interface().(*Reply) = Reply{v: *v} //nolint:errcheck // the type was just compared
		return nil
	case isAny(t):
		if value := anyOf(v); value != nil {
			dst.Set(reflect.ValueOf(value))
		} else {
			dst.SetZero()
		}
		return nil
	case v.Kind == resp.KindError:
		return newConversionError(v, t.String(), otherKind)
	case v.IsNull():
		if t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
			dst.SetZero()
			return nil
		}
		return elementError(v, t.String(), otherKind)
	case isLeaf(t):
		return storeLeaf(v, dst)
	case t == reflect.TypeFor[time.Duration]():
		return newConversionError(v, t.String(), noUnit)
	}
	switch t.Kind() {
	case reflect.Slice:
		return s.storeSlice(v, dst)
	case reflect.Array:
		return s.storeArray(v, dst)
	case reflect.Map:
		return s.storeMap(v, dst)
	case reflect.Struct:
		return s.storeStruct(v, dst)
	default:
		if why := storeScalar(v, dst); why != fits {
			return newConversionError(v, t.String(), why)
		}
		return nil
	}
}

func isAny(t reflect.Type) bool { return t.Kind() == reflect.Interface && t.NumMethod() == 0 }

// isLeaf reports whether a type reads its own text.
func isLeaf(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) || p.Implements(reflect.TypeFor[encoding.BinaryUnmarshaler]())
}

func storeLeaf(v *resp.Value, dst reflect.Value) *ConversionError {
	text, why := appendText([]byte{}, v)
	if why != fits {
		return newConversionError(v, dst.Type().String(), why)
	}
	var err error
	switch u := dst.Addr().Interface().(type) {
	case encoding.TextUnmarshaler:
		err = u.UnmarshalText(text)
	case encoding.BinaryUnmarshaler:
		err = u.UnmarshalBinary(text)
	}
	if err != nil {
		bad := newConversionError(v, dst.Type().String(), refused)
		bad.Err = err
		return bad
	}
	return nil
}

func storeScalar(v *resp.Value, dst reflect.Value) misfit {
	switch dst.Kind() {
	case reflect.String:
		s, why := textOf(v)
		if why == fits {
			dst.SetString(s)
		}
		return why
	case reflect.Bool:
		b, why := boolOf(v)
		if why == fits {
			dst.SetBool(b)
		}
		return why
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, why := intOf(v)
		switch {
		case why != fits:
			return why
		case dst.OverflowInt(n):
			return outOfRange
		}
		dst.SetInt(n)
		return fits
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		n, why := uintOf(v)
		switch {
		case why != fits:
			return why
		case dst.OverflowUint(n):
			return outOfRange
		}
		dst.SetUint(n)
		return fits
	case reflect.Float32, reflect.Float64:
		f, why := floatOf(v)
		switch {
		case why != fits:
			return why
		case dst.OverflowFloat(f):
			return outOfRange
		}
		dst.SetFloat(f)
		return fits
	default:
		return noConversion
	}
}

func (s *scanner) storeSlice(v *resp.Value, dst reflect.Value) *ConversionError {
	t := dst.Type()
	if t.Elem().Kind() == reflect.Uint8 && !isAggregate(v) {
		text, why := appendText([]byte{}, v)
		if why != fits {
			return newConversionError(v, t.String(), why)
		}
		dst.SetBytes(text)
		return nil
	}
	if !isAggregate(v) {
		return newConversionError(v, t.String(), otherKind)
	}
	if isPair(t.Elem()) && (v.Kind == resp.KindMap || len(v.Elems) > 0 && !isAggregate(&v.Elems[0])) {
		return s.storePairs(v, dst)
	}
	out := reflect.MakeSlice(t, len(v.Elems), len(v.Elems))
	dst.Set(out)
	return s.storeElems(v.Elems, out)
}

func isPair(t reflect.Type) bool { return t.Kind() == reflect.Array && t.Len() == 2 }

// storePairs is storeSlice for a slice of [2]T and a reply whose pairs are not arrays.
func (s *scanner) storePairs(v *resp.Value, dst reflect.Value) *ConversionError {
	list, why := pairsOf(v)
	if why != fits {
		return newConversionError(v, dst.Type().String(), why)
	}
	out := reflect.MakeSlice(dst.Type(), list.len(), list.len())
	dst.Set(out)
	for i := range list.len() {
		key, value := list.at(i)
		if bad := s.store(key, out.Index(i).Index(0)); bad != nil {
			return bad.within(keyAt(i))
		}
		if bad := s.store(value, out.Index(i).Index(1)); bad != nil {
			return bad.within(valueAt(i))
		}
	}
	return nil
}

func (s *scanner) storeArray(v *resp.Value, dst reflect.Value) *ConversionError {
	switch {
	case !isAggregate(v):
		return newConversionError(v, dst.Type().String(), otherKind)
	case len(v.Elems) != dst.Len():
		return newConversionError(v, dst.Type().String(), otherLength)
	}
	return s.storeElems(v.Elems, dst)
}

func (s *scanner) storeElems(elems []resp.Value, dst reflect.Value) *ConversionError {
	for i := range elems {
		if bad := s.store(&elems[i], dst.Index(i)); bad != nil {
			return bad.within(elementAt(i))
		}
	}
	return nil
}

func (s *scanner) storeMap(v *resp.Value, dst reflect.Value) *ConversionError {
	t := dst.Type()
	list, why := pairsOf(v)
	if why != fits {
		return newConversionError(v, t.String(), why)
	}
	out := reflect.MakeMapWithSize(t, list.len())
	for i := range list.len() {
		k, e := list.at(i)
		key, elem := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
		if bad := s.store(k, key); bad != nil {
			return bad.within(keyAt(i))
		}
		// A key of type any may have become a list, which Go cannot hash.
		if !key.Comparable() {
			return newConversionError(k, t.Key().String(), notKey).within(keyAt(i))
		}
		if bad := s.store(e, elem); bad != nil {
			return bad.within(valueAt(i))
		}
		out.SetMapIndex(key, elem)
	}
	dst.Set(out)
	return nil
}

func (s *scanner) storeStruct(v *resp.Value, dst reflect.Value) *ConversionError {
	t := dst.Type()
	list, why := pairsOf(v)
	if why != fits {
		return newConversionError(v, t.String(), why)
	}
	plan, known := s.plans[t]
	if !known {
		plan = newStructPlan(t)
		if s.plans == nil {
			s.plans = map[reflect.Type]*structPlan{}
		}
		s.plans[t] = plan
	}
	if plan.twice != "" {
		bad := newConversionError(v, t.String(), noConversion)
		bad.Reason = "two of its fields are named " + strconv.Quote(plan.twice)
		return bad
	}
	for i := range list.len() {
		k, e := list.at(i)
		name, why := textOf(k)
		if why != fits {
			return newConversionError(k, "the name of a field", why).within(keyAt(i))
		}
		field, ok := plan.fields[name]
		if !ok || e.IsNull() && !field.nilable {
			continue
		}
		place, ok := reach(dst, field.index)
		if !ok {
			bad := newConversionError(e, field.typ.String(), noConversion)
			bad.Reason = "it is behind a nil pointer to an unexported embedded struct"
			return bad.within("." + field.name)
		}
		if bad := s.store(e, place); bad != nil {
			return bad.within("." + field.name)
		}
	}
	return nil
}

// reach is FieldByIndex that makes the embedded structs it passes through, where it may.
func reach(dst reflect.Value, index []int) (reflect.Value, bool) {
	for i, x := range index {
		if i > 0 && dst.Kind() == reflect.Pointer {
			if dst.IsNil() {
				if !dst.CanSet() {
					return dst, false
				}
				dst.Set(reflect.New(dst.Type().Elem()))
			}
			dst = dst.Elem()
		}
		dst = dst.Field(x)
	}
	return dst, true
}
