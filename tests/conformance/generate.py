"""Random objects of the sample type and of ``mergeItem`` for property tests."""

from typing import Any

from hypothesis import strategies as st

Object = dict[str, Any]

_names = st.sampled_from(["a", "b", "c"])
_texts = st.sampled_from(["x", "y", "1"])
_numbers = st.integers(0, 3)


def _some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Object]:
    return st.fixed_dictionaries({}, optional=fields)


def _listed(
    key: str, keys: st.SearchStrategy[Any], **fields: st.SearchStrategy[Any]
) -> st.SearchStrategy[list[Object]]:
    items = st.tuples(keys, _some(**fields)).map(lambda pair: {key: pair[0], **pair[1]})
    return st.lists(items, max_size=3, unique_by=lambda item: item[key])


_free = st.recursive(
    st.one_of(_texts, _numbers, st.booleans(), st.none()),
    lambda inner: st.one_of(st.dictionaries(_names, inner, max_size=2), st.lists(inner, max_size=2)),
    max_leaves=4,
)

samples: st.SearchStrategy[Object] = _some(
    text=_texts,
    number=_numbers,
    flag=st.booleans(),
    port=st.one_of(_texts, _numbers),
    maybe=st.one_of(st.none(), _texts),
    level=_texts,
    labels=st.dictionaries(_names, _texts, max_size=2),
    groups=st.dictionaries(_names, _some(size=_numbers, weight=_numbers), max_size=2),
    nested=_some(a=_texts, b=_texts, deeper=_some(c=_texts, items=_listed("name", _names, value=_texts))),
    color=_some(red=_numbers, green=_numbers),
    tags=st.lists(_texts, max_size=3, unique=True),
    numbers=st.lists(_numbers, max_size=3, unique=True),
    steps=st.lists(_texts, max_size=2),
    atoms=st.lists(_some(name=_names, value=_texts), max_size=2),
    items=_listed(
        "name", _names, value=_texts, tags=st.lists(_texts, max_size=2, unique=True), color=_some(red=_numbers)
    ),
    ports=_listed("port", _numbers, protocol=st.sampled_from(["TCP", "UDP"]), name=_texts),
    colors=_listed("name", _names, red=_numbers),
    free=st.dictionaries(_names, _free, max_size=2),
)
"""``spec`` of a Sample."""

_leaf_items = _listed("name", _names, value=_texts, other=_texts)
_named_items = _listed(
    "name",
    _names,
    value=_texts,
    mergingList=_leaf_items,
    mergingIntList=st.lists(_numbers, max_size=2, unique=True),
)
merge_items: st.SearchStrategy[Object] = _some(
    value=_texts,
    other=_texts,
    simpleMap=st.dictionaries(_names, _texts, max_size=2),
    mergingList=_named_items,
    nonMergingList=_named_items,
    mergingIntList=st.lists(_numbers, max_size=3, unique=True),
    nonMergingIntList=st.lists(_numbers, max_size=3),
    item=_some(value=_texts, simpleMap=st.dictionaries(_names, _texts, max_size=2), mergingList=_leaf_items),
    replacingItem=_some(value=_texts, other=_texts),
    retainKeysItem=_some(value=_texts, other=_texts),
    retainKeysMergingList=_leaf_items,
)


def sample(spec: Object) -> Object:
    """Returns a Sample with this ``spec``."""
    return {
        "apiVersion": "conformance.modelyard.dev/v1",
        "kind": "Sample",
        "metadata": {"name": "case"},
        "spec": spec,
    }
