"""The layout of stack files, case by case: a text, and what becomes of it."""

import pytest

from modelyard.stack.yaml.formatting import formatted, stack_order

CASES = {
    "keys come in the order of the schema, those of other packages first": (
        """\
config:
  modelyard:gpu:
    perWorker: 2
    model: A10
  modelyard:training: ray
  aws:region: eu-central-1
  kubernetes:context: dev
""",
        """\
config:
  aws:region: eu-central-1
  kubernetes:context: dev
  modelyard:training: ray
  modelyard:gpu:
    model: A10
    perWorker: 2
""",
    ),
    "Pulumi's own keys stay where they are": (
        "encryptionsalt: v1:abc\nconfig:\n    a:b: 1\nsecretsprovider: passphrase\n",
        "encryptionsalt: v1:abc\nconfig:\n  a:b: 1\nsecretsprovider: passphrase\n",
    ),
    "a comment goes with the key below it, and with the value before it": (
        """\
config:
  # The card.
  modelyard:gpu: {model: A10} # small
  # The flag,
  # and why.
  modelyard:training: ray
""",
        """\
config:
  # The flag,
  # and why.
  modelyard:training: ray
  # The card.
  modelyard:gpu: {model: A10} # small
""",
    ),
    "a comment that ends a section stays in it": (
        """\
config:
  modelyard:gpu:
    model: A10
    # more may follow
  # The flag.
  modelyard:training: ray
""",
        """\
config:
  # The flag.
  modelyard:training: ray
  modelyard:gpu:
    model: A10
    # more may follow
""",
    ),
    "lists are indented, and their items' keys ordered": (
        """\
config:
  modelyard:waivers:
  - expires: 2027-03-01
    reason: slower
    # decided in May
    code: GPU001
""",
        """\
config:
  modelyard:waivers:
    # decided in May
    - code: GPU001
      reason: slower
      expires: 2027-03-01
""",
    ),
    "a mapping on one line is ordered and spaced": (
        "config:\n  modelyard:gpu: { perWorker: 2,model:   A10 }\n",
        "config:\n  modelyard:gpu: {model: A10, perWorker: 2}\n",
    ),
    "a mapping over several lines is only moved": (
        "config:\n      modelyard:gpu: {\n        perWorker: 2,  # two\n        model: A10\n      }\n",
        "config:\n  modelyard:gpu: {\n    perWorker: 2,  # two\n    model: A10\n  }\n",
    ),
    "quotes and numbers stay as they are written": (
        "config:\n  modelyard:platform:\n    release:   '23.10'\n    cuda: \"11.7\"\n  a:b: [0x1F,1e3,+4,  ~]\n",
        "config:\n  a:b: [0x1F, 1e3, +4, ~]\n  modelyard:platform:\n    release: '23.10'\n    cuda: \"11.7\"\n",
    ),
    "an encrypted value stays to the letter": (
        "config:\n  modelyard:patches:\n  - params:\n        token:\n              secure:   v1:aB+/==\n    name: x\n",
        "config:\n  modelyard:patches:\n    - name: x\n      params:\n        token:\n          secure: v1:aB+/==\n",
    ),
    "a long text keeps its lines": (
        """\
config:
    modelyard:waivers:
        - code: GPU001
          reason: |
              first

                indented
              last
          expires: 2027-03-01
""",
        """\
config:
  modelyard:waivers:
    - code: GPU001
      reason: |
          first

            indented
          last
      expires: 2027-03-01
""",
    ),
    "blank lines: none at the ends or the top of a section, one in a row": (
        "\n\n# top\nconfig:\n\n  a:b: 1\n\n\n\n  a:c: 2\n\n\n",
        "# top\nconfig:\n  a:b: 1\n\n  a:c: 2\n",
    ),
    "comments that are aligned stay so": (
        "config:\n  a:b: 1      # one\n  a:long: 2   # two\n",
        "config:\n  a:b: 1      # one\n  a:long: 2   # two\n",
    ),
    "line ends and a byte-order mark": ("\ufeffconfig:\r\n  a:b: 1\r\n", "config:\n  a:b: 1\n"),
    "unknown keys come behind the known ones": (
        "config:\n  modelyard:nope: 1\n  modelyard:training: ray\n",
        "config:\n  modelyard:training: ray\n  modelyard:nope: 1\n",
    ),
    "with an anchor nothing is moved": (
        "config:\n    modelyard:gpu: &card {perWorker: 2}\n    modelyard:training: ray\n    a:b: *card\n",
        "config:\n  modelyard:gpu: &card {perWorker: 2}\n  modelyard:training: ray\n  a:b: *card\n",
    ),
    "nothing but comments": ("\n# only\n\n\n", "# only\n"),
    "an empty value": (
        "config:\n  a:b:\n  a:c:   # none\n  a:d: # n\n",
        "config:\n  a:b:\n  a:c:   # none\n  a:d: # n\n",
    ),
    "a list in a list": (
        "config:\n  a:b:\n  - - 1\n    - 2\n  - []\n",
        "config:\n  a:b:\n    - - 1\n      - 2\n    - []\n",
    ),
    "a value below its key": ("config:\n  a:b:\n      text\n", "config:\n  a:b: text\n"),
}


@pytest.mark.parametrize(("text", "wanted"), CASES.values(), ids=list(CASES))
def test_a_stack_file_gets_the_layout(text: str, wanted: str) -> None:
    made = formatted(text, stack_order)
    assert made.problem is None
    assert made.text == wanted
    assert formatted(wanted, stack_order).text == wanted


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("config:\n  ? a\n  : b\n", 2),
        ("config:\n  a:b: # why\n    text\n", 2),
        ("--- {a: 1}\n", 1),
        ("config:\n  a:b: 1\u2028  a:c: 2\n", 0),
        ("config:\n  a:b: |\n    no line feed at the end", 0),
    ],
)
def test_text_without_a_known_layout_is_left_with_a_reason(text: str, line: int) -> None:
    made = formatted(text, stack_order)
    assert made.text == text
    assert made.problem is not None
    assert made.problem.harmless
    assert made.problem.message
    assert made.problem.line == line


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("config:\n\ta: 1\n", "CFG004", 2),
        ("config:\n  a: 1\n  a: 2\n", "CFG006", 3),
        ("a: 1\n---\nb: 2\n", "CFG005", 2),
        ("a: !!binary x\n", "CFG005", 1),
        ("a: {b: 1\n", "CFG004", 1),
    ],
)
def test_a_text_that_readers_would_disagree_about_is_refused(text: str, code: str, line: int) -> None:
    made = formatted(text, stack_order)
    assert made.text == text
    assert made.problem is not None
    assert not made.problem.harmless
    assert (made.problem.code, made.problem.line) == (code, line)
