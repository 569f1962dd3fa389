"""Quantities are exact, in each form that the API server accepts."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelyard import quantity

DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("+1", 1),
        ("-1", -1),
        ("0", 0),
        ("010", 10),
        ("0.5", Fraction(1, 2)),
        (".5", Fraction(1, 2)),
        ("5.", 5),
        ("1.G", 10**9),
        ("500m", Fraction(1, 2)),
        ("100n", Fraction(1, 10**7)),
        ("16Gi", 16 * 2**30),
        ("16G", 16 * 10**9),
        ("1.5Gi", 3 * 2**29),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1E", 10**18),
        ("1e-3", Fraction(1, 1000)),
        ("1e+3", 1000),
        ("2.5e1", 25),
        (4, 4),
        (0.1, Fraction(1, 10)),
        (1e-07, Fraction(1, 10**7)),
        (1e22, 10**22),
    ],
)
def test_each_form_of_a_quantity_is_parsed(text: str | int | float, value: Fraction | int) -> None:
    assert quantity.parse(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        ".",
        "+",
        "1 Gi",
        " 1",
        "1\n",
        "12GB",
        "12gi",
        "12g",
        "1K",
        "1ki",
        "1e",
        "1e1.5",
        "1.2.3",
        "--1",
        "1mi",
        "0x10",
        "1_000",
        "1,5",
        "inf",
        "nan",
        "true",
        "１",
        "1٣",
        "½",
        "1e9999",
        "1" * 65,
    ],
)
def test_other_texts_are_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="is not a Kubernetes quantity such as"):
        quantity.parse(text)


@pytest.mark.parametrize("value", [True, float("inf"), float("nan")])
def test_other_values_are_rejected(value: float) -> None:
    with pytest.raises(ValueError, match=f"^'{value}' "):
        quantity.parse(value)


NUMBERS = st.tuples(st.sampled_from(["", "+", "-"]), st.integers(0, 10**12), st.integers(0, 999))


@given(NUMBERS, st.sampled_from([*DECIMAL, *BINARY]))
def test_parsed_values_are_exact(number: tuple[str, int, int], suffix: str) -> None:
    sign, whole, thousandths = number
    value = (whole + Fraction(thousandths, 1000)) * (-1 if sign == "-" else 1)
    scale = Fraction(2) ** BINARY[suffix] if suffix in BINARY else Fraction(10) ** DECIMAL[suffix]
    assert quantity.parse(f"{sign}{whole}.{thousandths:03}{suffix}") == value * scale


@given(st.integers(-(10**6), 10**6), st.integers(-99, 99))
def test_parsed_exponents_are_exact(number: int, exponent: int) -> None:
    assert quantity.parse(f"{number}e{exponent}") == number * Fraction(10) ** exponent


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (48 * 2**30, "48Gi"),
        (1536 * 2**20, "1536Mi"),
        (1500, "1500"),
        (0, "0"),
        (2**60, "1Ei"),
        (Fraction(3, 2), "1500m"),
        (Fraction(1, 10**7), "100n"),
        (Fraction(1, 10**6), "1u"),
        (Fraction(1, 3 * 10**9), "1n"),
        (Fraction(-1, 3 * 10**9), "-1n"),
    ],
)
def test_memory_is_written_with_its_unit(value: Fraction | int, text: str) -> None:
    assert quantity.memory(Fraction(value)) == text


@pytest.mark.parametrize(
    ("value", "text"), [(4, "4"), (Fraction(1, 2), "500m"), (Fraction(5, 2), "2500m"), (Fraction(1, 10**7), "1m")]
)
def test_cpu_is_written_in_cores_or_millicores(value: Fraction | int, text: str) -> None:
    assert quantity.cpu(Fraction(value)) == text


@given(st.integers(0, 2**63 - 1))
def test_bytes_survive_their_text(value: int) -> None:
    assert quantity.parse(quantity.memory(Fraction(value))) == value


@given(st.integers(0, 10**9))
def test_millicores_survive_their_text(milli: int) -> None:
    assert quantity.parse(quantity.cpu(Fraction(milli, 1000))) == Fraction(milli, 1000)


@pytest.mark.parametrize(
    ("text", "factor", "product"),
    [
        ("12Gi", 4, "48Gi"),
        ("24G", 2, "48G"),
        ("1.5Gi", 2, "3Gi"),
        ("1.5Gi", 3, "4608Mi"),
        ("1e3", 4, "4e3"),
        ("500m", 3, "1500m"),
        ("+1", 2, "2"),
        ("0.5n", 2, "1n"),
        ("16", 1, "16"),
    ],
)
def test_products_keep_the_unit(text: str, factor: int, product: str) -> None:
    assert quantity.times(text, factor) == product


@given(
    st.integers(0, 10**6), st.integers(0, 999), st.sampled_from(["", "m", "k", "M", "G", *BINARY]), st.integers(1, 16)
)
def test_products_are_exact(whole: int, thousandths: int, suffix: str, factor: int) -> None:
    text = f"{whole}.{thousandths:03}{suffix}"
    assert quantity.parse(quantity.times(text, factor)) == quantity.parse(text) * factor


def test_a_product_of_an_invalid_quantity_is_an_error() -> None:
    with pytest.raises(ValueError, match="'12GB'"):
        quantity.times("12GB", 2)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("12GB", "12G or 12Gi"),
        ("12gb", "12G or 12Gi"),
        ("12g", "12G or 12Gi"),
        ("12 G", "12G or 12Gi"),
        ("12 Gi", "12Gi"),
        ("12gi", "12Gi"),
        ("12GiB", "12Gi"),
        ("1,5 GB", "1.5G or 1.5Gi"),
        ("512 MB", "512M or 512Mi"),
        ("64K", "64k or 64Ki"),
        ("12 gigabytes", "12G or 12Gi"),
        ("12 gibibytes", "12Gi"),
        ("4 cores", "4"),
        ("500 millicores", "500m"),
        ("100 bytes", "100"),
        ("7B", "7G or 7"),
        (" 16Gi ", "16Gi"),
        ("lots", ""),
        ("12 parsecs", ""),
        ("", ""),
        ("Gi", ""),
    ],
)
def test_an_invalid_quantity_gets_suggestions(text: str, meant: str) -> None:
    assert quantity.suggest(text) == meant


@given(st.text(max_size=20))
def test_every_suggestion_is_a_quantity(text: str) -> None:
    for meant in filter(None, quantity.suggest(text).split(" or ")):
        quantity.parse(meant)


def test_only_amounts_are_the_same() -> None:
    assert quantity.same("1000m", 1)
    assert not quantity.same({}, 1)
    assert not quantity.same("1", ["1"])
