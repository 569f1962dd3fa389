// Prints the defaults that the API server's code gives to fields of Kubernetes' types, as one JSON object:
// {"constant": {definition: {field: value}}, "derived": {definition: [field]}, "undefaulted": {definition: {field:
// [field of its type]}}}. A derived default depends on the fields beside it. Undefaulted are the fields of a type that
// have a default elsewhere but not where that field of that definition holds the type: the code gives a Job's defaults
// to no jobTemplate of a CronJob. generate.py runs it with the module file of lab/kubernetes.
//
// It makes an empty object of every kind, with all structs and one item in each list of structs, lets the server's
// scheme fill in defaults and convert the object to its internal form and back, and looks at what is there now. What
// depends on what comes out of doing the same again with one field set, or one struct left out.
package main

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"
	_ "k8s.io/kubernetes/pkg/apis/events/install"
	_ "k8s.io/kubernetes/pkg/apis/flowcontrol/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/node/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
)

// field is a field of a Go type, by its Go name.
type field struct {
	owner reflect.Type
	name  string
}

// defaults holds values as JSON, by type and by the field's name in JSON.
type defaults map[reflect.Type]map[string]map[string]bool

// place is a field that holds a struct, by its name in JSON, and the type of that struct. An object stands nowhere.
type place struct {
	holder reflect.Type
	name   string
	held   reflect.Type
}

// seen says of the fields of a struct in a place, by name, whether a default was ever seen.
type seen map[place]map[string]bool

var (
	scheme      = legacyscheme.Scheme
	unmarshaler = reflect.TypeOf((*json.Unmarshaler)(nil)).Elem()
	typeMeta    = reflect.TypeOf(metav1.TypeMeta{})
	objectMeta  = reflect.TypeOf(metav1.ObjectMeta{})
	// "User" stands for the kinds of RBAC subjects whose API group has a default.
	texts = []string{"x", "User"}
)

func isStruct(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(unmarshaler)
}

// fill makes every struct below value, but for the field without, and sets the field with to a text.
func fill(owner reflect.Type, value reflect.Value, without, with field, text string, visit func(field, reflect.Type), stack []reflect.Type) {
	for _, above := range stack {
		if above == value.Type() {
			return
		}
	}
	stack = append(stack, value.Type())
	for i := range value.NumField() {
		inner, here := value.Field(i), field{owner, value.Type().Field(i).Name}
		if here == without || inner.Type() == typeMeta || inner.Type() == objectMeta {
			continue
		}
		if visit != nil {
			visit(here, inner.Type())
		}
		if here == with {
			if inner.Kind() == reflect.Pointer {
				inner.Set(reflect.New(inner.Type().Elem()))
				inner = inner.Elem()
			}
			switch inner.Kind() {
			case reflect.String:
				inner.SetString(text)
			case reflect.Bool:
				inner.SetBool(true)
			default:
				inner.SetInt(1)
			}
			continue
		}
		switch kind := inner.Type(); {
		case kind.Kind() == reflect.Pointer && isStruct(kind.Elem()):
			inner.Set(reflect.New(kind.Elem()))
			fill(kind.Elem(), inner.Elem(), without, with, text, visit, stack)
		case kind.Kind() == reflect.Slice && isStruct(kind.Elem()):
			inner.Set(reflect.MakeSlice(kind, 1, 1))
			fill(kind.Elem(), inner.Index(0), without, with, text, visit, stack)
		case isStruct(kind) && value.Type().Field(i).Anonymous:
			fill(owner, inner, without, with, text, visit, stack)
		case isStruct(kind):
			fill(kind, inner, without, with, text, visit, stack)
		}
	}
}

// compare notes the fields that are empty before and have a value after, and in at which fields of a place they are.
func compare(owner reflect.Type, at place, before, after reflect.Value, found defaults, in seen) {
	for i := range before.NumField() {
		declared, b, a := before.Type().Field(i), before.Field(i), after.Field(i)
		name, option, _ := strings.Cut(declared.Tag.Get("json"), ",")
		if name == "" && (option == "inline" || declared.Anonymous) {
			compare(owner, at, b, a, found, in)
			continue
		}
		if b.Type() == objectMeta {
			continue
		}
		if b.Kind() == reflect.Pointer && !b.IsNil() && !a.IsNil() {
			b, a = b.Elem(), a.Elem()
		}
		if at.holder != nil && b.IsZero() {
			if in[at] == nil {
				in[at] = map[string]bool{}
			}
			in[at][name] = in[at][name] || !a.IsZero()
		}
		switch {
		case isStruct(b.Type()):
			compare(b.Type(), place{owner, name, b.Type()}, b, a, found, in)
		case b.Kind() == reflect.Slice && b.Len() == 1 && a.Len() == 1 && isStruct(b.Type().Elem()):
			compare(b.Type().Elem(), place{owner, name, b.Type().Elem()}, b.Index(0), a.Index(0), found, in)
		case b.IsZero() && !a.IsZero() && !(a.Kind() == reflect.Map && a.Len() == 0):
			text, err := json.Marshal(a.Interface())
			if err != nil {
				panic(err)
			}
			if found[owner] == nil {
				found[owner] = map[string]map[string]bool{}
			}
			if found[owner][name] == nil {
				found[owner][name] = map[string]bool{}
			}
			if _, isTime := a.Interface().(*metav1.Time); isTime {
				// The time of the request: more than one value.
				found[owner][name]["now"] = true
			}
			found[owner][name][string(text)] = true
		}
	}
}

// run gives the defaults of one object, and notes in which places it saw them; nothing where the server cannot convert such an object.
func run(kind schema.GroupVersionKind, without, with field, text string, visit func(field, reflect.Type), in seen) defaults {
	made, err := scheme.New(kind)
	if err != nil {
		panic(err)
	}
	empty := reflect.ValueOf(made).Elem()
	fill(empty.Type(), empty, without, with, text, visit, nil)
	before := made.DeepCopyObject()
	scheme.Default(made)
	internal, err := scheme.ConvertToVersion(made, schema.GroupVersion{Group: kind.Group, Version: runtime.APIVersionInternal})
	if err != nil {
		return nil
	}
	after, err := scheme.ConvertToVersion(internal, kind.GroupVersion())
	if err != nil {
		return nil
	}
	b, a := reflect.ValueOf(before).Elem(), reflect.ValueOf(after).Elem()
	// The object's own kind is filled in for this program, not by a default.
	a.FieldByName("TypeMeta").SetZero()
	found := defaults{}
	if with != (field{}) {
		// Not every place is tried with each field set.
		in = seen{}
	}
	compare(b.Type(), place{}, b, a, found, in)
	return found
}

// definition is the type's name in the OpenAPI documents.
func definition(t reflect.Type) string {
	host, path, _ := strings.Cut(t.PkgPath(), "/")
	if host != "k8s.io" {
		panic(t)
	}
	return "io.k8s." + strings.ReplaceAll(path, "/", ".") + "." + t.Name()
}

func jsonName(of field) string {
	found, _ := of.owner.FieldByName(of.name)
	name, _, _ := strings.Cut(found.Tag.Get("json"), ",")
	return name
}

func isScalar(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64:
		return true
	}
	return false
}

func main() {
	all, derived, in := defaults{}, map[reflect.Type]map[string]bool{}, seen{}
	derive := func(owner reflect.Type, name string) {
		if derived[owner] == nil {
			derived[owner] = map[string]bool{}
		}
		derived[owner][name] = true
	}
	keep := func(found defaults, owner reflect.Type, name string) {
		for value := range found[owner][name] {
			if all[owner] == nil {
				all[owner] = map[string]map[string]bool{}
			}
			if all[owner][name] == nil {
				all[owner][name] = map[string]bool{}
			}
			all[owner][name][value] = true
		}
	}
	// Fields of one type whose defaults another field of it decides.
	judge := func(base, found defaults, changed field) {
		names := map[string]bool{}
		for name := range base[changed.owner] {
			names[name] = true
		}
		for name := range found[changed.owner] {
			names[name] = true
		}
		for name := range names {
			if name != jsonName(changed) && !reflect.DeepEqual(base[changed.owner][name], found[changed.owner][name]) {
				derive(changed.owner, name)
			}
		}
	}
	set := map[field]bool{}
	kinds := slices.SortedFunc(maps.Keys(scheme.AllKnownTypes()), func(a, b schema.GroupVersionKind) int {
		return strings.Compare(a.String(), b.String())
	})
	for _, kind := range kinds {
		t := scheme.AllKnownTypes()[kind]
		if _, has := t.FieldByName("ObjectMeta"); !has || kind.Version == runtime.APIVersionInternal {
			continue
		}
		structs, scalars := map[field]bool{}, map[field]bool{}
		base := run(kind, field{}, field{}, "", func(at field, t reflect.Type) {
			if isScalar(t) {
				scalars[at] = true
			} else if (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice) && isStruct(t.Elem()) {
				structs[at] = true
			}
		}, in)
		for owner, names := range base {
			for name := range names {
				keep(base, owner, name)
			}
		}
		for at := range structs {
			found := run(kind, at, field{}, "", nil, in)
			keep(found, at.owner, jsonName(at))
			if found != nil {
				judge(base, found, at)
			}
			if found[at.owner][jsonName(at)] == nil {
				continue
			}
			for beside := range scalars {
				for _, text := range texts {
					if beside.owner == at.owner {
						if other := run(kind, at, beside, text, nil, in); other != nil {
							judge(found, other, beside)
						}
					}
				}
			}
		}
		for at := range scalars {
			if set[at] {
				continue
			}
			// Where the type has no defaults, another kind must show what depends on the field.
			set[at] = len(base[at.owner]) > 0
			for _, text := range texts {
				if found := run(kind, field{}, at, text, nil, in); found != nil {
					judge(base, found, at)
				}
			}
		}
	}
	constant, fields := map[string]map[string]json.RawMessage{}, map[string]map[string]bool{}
	for owner, names := range all {
		for name, values := range names {
			if len(values) > 1 {
				derive(owner, name)
			} else if !derived[owner][name] {
				if constant[definition(owner)] == nil {
					constant[definition(owner)] = map[string]json.RawMessage{}
				}
				for value := range values {
					constant[definition(owner)][name] = json.RawMessage(value)
				}
			}
		}
	}
	for owner, names := range derived {
		fields[definition(owner)] = names
	}
	defaulted := map[reflect.Type]map[string]bool{}
	for at, names := range in {
		if defaulted[at.held] == nil {
			defaulted[at.held] = map[string]bool{}
		}
		for name, has := range names {
			defaulted[at.held][name] = defaulted[at.held][name] || has
		}
	}
	undefaulted := map[string]map[string]map[string]bool{}
	for at, names := range in {
		for name, has := range names {
			if has || !defaulted[at.held][name] {
				continue
			}
			holder := definition(at.holder)
			if undefaulted[holder] == nil {
				undefaulted[holder] = map[string]map[string]bool{}
			}
			if undefaulted[holder][at.name] == nil {
				undefaulted[holder][at.name] = map[string]bool{}
			}
			undefaulted[holder][at.name][name] = true
		}
	}
	printed := map[string]any{"constant": constant, "derived": fields, "undefaulted": undefaulted}
	if err := json.NewEncoder(os.Stdout).Encode(printed); err != nil {
		panic(err)
	}
}
