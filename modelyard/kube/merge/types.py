"""Types: what a value may be, and how two of them merge, as an OpenAPI schema says it.

A type is read from its OpenAPI schema when it is first looked at, so a document of a thousand definitions costs only
what an object touches. The rules that turn OpenAPI into merge behaviour are those of ``kube-openapi/pkg/schemaconv``
(server-side apply) and of the ``x-kubernetes-patch-*`` extensions (strategic merge patch).
"""

from collections.abc import Callable, Mapping
from typing import Any

Schema = Mapping[str, Any]
"""One OpenAPI schema, as plain data."""

QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
TIME = "io.k8s.apimachinery.pkg.apis.meta.v1.Time"
MICRO_TIME = "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime"
RAW_EXTENSION = "io.k8s.apimachinery.pkg.runtime.RawExtension"
_GO_PACKAGES = ("io.k8s.api.", "io.k8s.apimachinery.", "io.k8s.apiextensions-apiserver.", "io.k8s.kube-aggregator.")
STATUS_MARK = "x-status-subresource"
"""Set on a definition whose ``status`` the main resource ignores."""
DROPPED_MARK = "x-dropped-zeros"
"""Fields of a Go type whose zero value (``false``, ``0``, an empty string) is the same as nothing: it is not stored."""
DEFAULTS_MARK = "x-code-defaults"
"""Defaults that the API server's code gives to fields of a Go type, which OpenAPI documents lack."""
COPIED_MARK = "x-code-copied"
"""Fields of a Go type that the API server's code fills from others beside them: ``{"when": {field: value}, "fill":
{field: [fields that it takes from]}}``. Of maps, it takes the keys that are missing."""
DERIVED_MARK = "x-code-derived"
"""Fields of a Go type to which the API server's code gives a default that depends on the fields beside them."""

WRITTEN_MARK = "x-code-written"
"""Lists of a Go type that are not required and still always written, as null when nothing is in them."""
UNDEFAULTED_MARK = "x-code-undefaulted"
"""Set beside a reference: fields of the Go type to which the API server's code gives a default elsewhere, but not
here."""


class Children(dict[str, "Type | None"]):
    """A map type's fields by name, each read on first use; the element type, or None, for an undeclared name."""

    __slots__ = ("element", "properties", "read")

    def __init__(
        self, properties: Mapping[str, Schema], element: "Type | None", read: Callable[[Schema], "Type"]
    ) -> None:
        super().__init__()
        self.properties = properties
        self.element = element
        self.read = read

    def __missing__(self, name: str) -> "Type | None":
        schema = self.properties.get(name)
        if schema is None:
            return self.element
        found = self[name] = self.read(schema)
        return found


class Type:
    """What a value may be. A free-form value may be scalar, map and list at once."""

    __slots__ = (
        "_defaults",
        "_item",
        "_item_schema",
        "_read",
        "_zeros",
        "child",
        "code_defaults",
        "copied",
        "derived",
        "drops_zero",
        "is_list",
        "is_map",
        "keys",
        "list_kind",
        "merge_key",
        "name",
        "native",
        "nullable",
        "prunes",
        "required",
        "retain_keys",
        "scalar",
        "separable",
        "status_subresource",
        "strategy",
        "unchecked",
        "written",
    )

    def __init__(self, name: str = "") -> None:
        self.name = name
        """Of the definition, empty for a type that stands inline."""
        self.scalar = ""
        """string, integer, number, boolean, int-or-string, quantity, any; empty: no scalar may stand here."""
        self.is_map = False
        self.separable = False
        """A map whose fields are owned one by one; otherwise the map is atomic."""
        self.child: Children = _NO_CHILDREN
        self.required: frozenset[str] = frozenset()
        self.written: frozenset[str] = frozenset()
        """Fields that a Go type always writes: the required ones, and some lists (``WRITTEN_MARK``)."""
        self.drops_zero: frozenset[str] = frozenset()
        """Fields that are not stored with their zero value (``DROPPED_MARK``)."""
        self.code_defaults: Mapping[str, Any] = {}
        """Defaults of the API server's code by field (``DEFAULTS_MARK``)."""
        self.copied: Mapping[str, Any] = {}
        """Fields that are filled from others (``COPIED_MARK``)."""
        self.derived: frozenset[str] = frozenset()
        """Fields whose default depends on others (``DERIVED_MARK``)."""
        self.is_list = False
        self.list_kind = ""
        """atomic, set or map."""
        self.keys: tuple[str, ...] = ()
        """Fields that identify an item of a list of kind map, sorted."""
        self.strategy = ""
        """Of strategic merge patch: merge, replace or nothing."""
        self.retain_keys = False
        self.merge_key = ""
        self.nullable = False
        self.native = False
        """A Go type of the API server: empty optional maps and lists are not stored, quantities are rewritten."""
        self.prunes = False
        """A map of a custom resource of which the API server stores the declared fields only."""
        self.status_subresource = False
        self.unchecked = False
        """Free-form below this point: nothing is known about fields."""
        self._read: Callable[[Schema], Type] = _cannot_read
        self._item: Type | None = None
        self._item_schema: Schema = {}
        self._defaults: dict[str, Any] | None = None
        self._zeros: dict[str, Any] | None = None

    def __repr__(self) -> str:
        return f"<Type {self.name or self.scalar or ('list' if self.is_list else 'map')}>"

    @property
    def item(self) -> "Type":
        """The type of a list's items."""
        if self._item is None:
            self._item = self._read(self._item_schema)
        return self._item

    def declares(self, name: str) -> bool:
        """Whether a field of this name is part of the type, rather than a key of a map."""
        return name in self.child.properties

    @property
    def defaults(self) -> dict[str, Any]:
        """Defaults that the API server fills in when it stores the map, by field. A Go type's zero values are none."""
        if self._defaults is None:
            properties = self.child.properties
            self._defaults = {
                name: schema["default"]
                for name, schema in properties.items()
                if "default" in schema and (not self.native or schema["default"])
            }
        return self._defaults

    @property
    def zeros(self) -> dict[str, Any]:
        """Fields that a Go struct always writes, and what it writes there for nothing: ``{}``, ``""``, ``0``, false.

        Those to which the API server's code gives a default are not among them.
        """
        if self._zeros is None:
            hidden = {*self.drops_zero, *self.code_defaults}
            self._zeros = {
                name: schema["default"]
                for name, schema in self.child.properties.items()
                if self.native and not schema.get("default", True) and name not in hidden
            }
        return self._zeros

    def key_default(self, key: str) -> Any:
        """The default of a field that identifies an item of this list, None where it has none."""
        return self.item.child.properties.get(key, {}).get("default")


def _cannot_read(schema: Schema) -> Type:
    raise LookupError(f"no document to read {dict(schema)} from")


_NO_CHILDREN = Children({}, None, _cannot_read)


def _free_form(name: str, separable: bool) -> Type:
    made = Type(name)
    made.scalar = "any"
    made.is_map = made.is_list = made.unchecked = True
    made.separable = separable
    made.list_kind = "atomic"
    made.nullable = True
    return made


UNTYPED = _free_form("untyped", separable=False)
"""Anything, merged as a whole."""
UNTYPED.child = Children({}, UNTYPED, _cannot_read)
UNTYPED._item = UNTYPED
DEDUCED = _free_form("deduced", separable=True)
"""Anything, merged field by field as far as it is maps: what a schema says nothing about."""
DEDUCED.child = Children({}, DEDUCED, _cannot_read)
DEDUCED._item = UNTYPED


_BESIDE_REFERENCES = frozenset(("x-kubernetes-map-type", "x-kubernetes-patch-strategy", UNDEFAULTED_MARK))


class Reader:
    """Reads types from the definitions of one document; a definition is read once."""

    def __init__(self, definitions: Mapping[str, Schema]) -> None:
        self.definitions = definitions
        self.named: dict[str, Type] = {}

    def definition(self, name: str) -> Type:
        """The type of a definition.

        Raises:
            LookupError: the document has no definition of that name.
        """
        found = self.named.get(name)
        if found is not None:
            return found
        schema = self.definitions.get(name)
        if schema is None:
            raise LookupError(f"the document refers to {name}, which it does not define")
        native = name.startswith(_GO_PACKAGES)
        if name == QUANTITY:
            found = Type(name)
            found.scalar = "quantity"
            found.native = True
        elif name == RAW_EXTENSION:
            found = UNTYPED
        else:
            found = Type(name)
            self.named[name] = found
            self._fill(found, schema, native, False)
            found.status_subresource = bool(schema.get(STATUS_MARK))
        self.named[name] = found
        return found

    def _property(self, schema: Schema, native: bool, preserve: bool) -> Type:
        """The type of a property, an item or a map's value."""
        reference = schema.get("$ref")
        if reference is None:
            every = schema.get("allOf")
            if every and len(every) == 1:
                reference = every[0].get("$ref")
        if reference is None:
            made = Type()
            self._fill(made, schema, native, preserve)
            return made
        target = self.definition(reference.rpartition("/")[2])
        if not (_BESIDE_REFERENCES & schema.keys() or schema.get("nullable")):
            return target
        # What stands beside a reference holds for this place only.
        made = Type(target.name)
        for slot in Type.__slots__:
            setattr(made, slot, getattr(target, slot))
        if left_out := schema.get(UNDEFAULTED_MARK):
            made.code_defaults = {name: value for name, value in target.code_defaults.items() if name not in left_out}
            made.derived = target.derived.difference(left_out)
            made._zeros = None
        self._extensions(made, schema)
        return made

    def _fill(self, made: Type, schema: Schema, native: bool, preserve: bool) -> None:
        preserves = schema.get("x-kubernetes-preserve-unknown-fields") is True
        preserve = preserve or preserves
        made.native = native
        made.nullable = bool(schema.get("nullable"))

        def read(part: Schema) -> Type:
            return self._property(part, native, preserve)

        made._read = read
        kind = schema.get("type", "")
        if not isinstance(kind, str):
            kind = next((k for k in kind if k != "null"), "")
        if kind in ("", "object"):
            made.is_map = made.separable = True
            properties = schema.get("properties") or {}
            extra = schema.get("additionalProperties")
            element: Type | None
            if isinstance(extra, Mapping):
                element = read(extra) if extra else DEDUCED
            elif extra is None:
                element = DEDUCED if preserve or not properties else None
            else:
                element = DEDUCED if extra else None
            made.unchecked = element is DEDUCED
            # Below a map that preserves unknown fields, those that are declared do not.
            made.prunes = kind == "object" and not (native or preserves or extra)
            made.child = Children(properties, element, read)
            made.required = frozenset(schema.get("required") or ())
            made.written = made.required.union(schema.get(WRITTEN_MARK) or ())
            made.drops_zero = frozenset(schema.get(DROPPED_MARK) or ())
            made.code_defaults = schema.get(DEFAULTS_MARK) or {}
            made.copied = schema.get(COPIED_MARK) or {}
            made.derived = frozenset(schema.get(DERIVED_MARK) or ())
        if kind in ("", "array"):
            made.is_list = True
            made.list_kind = "atomic"
            items = schema.get("items")
            if isinstance(items, Mapping):
                made._item_schema = items
            else:
                made._item = UNTYPED
        if kind == "":
            made.scalar = "any"
            made.nullable = made.nullable or preserve
        elif kind not in ("object", "array"):
            made.scalar = kind
        if schema.get("x-kubernetes-int-or-string") is True or schema.get("format") == "int-or-string":
            made.scalar = "int-or-string"
            made.is_map = made.is_list = False
        self._extensions(made, schema)

    def _extensions(self, made: Type, schema: Schema) -> None:
        map_type = schema.get("x-kubernetes-map-type")
        if map_type is not None and made.is_map:
            made.separable = map_type == "granular"
        strategies = str(schema.get("x-kubernetes-patch-strategy", "")).split(",")
        made.retain_keys = "retainKeys" in strategies
        made.strategy = next((s for s in strategies if s in ("merge", "replace")), "")
        made.merge_key = str(schema.get("x-kubernetes-patch-merge-key", ""))
        made.nullable = made.nullable or bool(schema.get("nullable"))
        if not made.is_list:
            return
        list_type = schema.get("x-kubernetes-list-type")
        if list_type == "map":
            made.list_kind, keys = "map", schema.get("x-kubernetes-list-map-keys") or ()
            made.keys = tuple(sorted(keys))
        elif list_type is not None:
            made.list_kind = "set" if list_type == "set" else "atomic"
        elif made.strategy == "merge":
            made.list_kind = "map" if made.merge_key else "set"
            made.keys = (made.merge_key,) if made.merge_key else ()
