// The words that changed between two values, by jsdiff.
const MOST_EDITS = 600;

/** Marks the diffs below an element, each once. */
function markWords(root) {
  for (const row of $$(".diff tbody tr:not([data-marked])", root)) {
    row.dataset.marked = "";
    const before = $(".before:not(.absent) pre", row);
    const after = $(".after:not(.absent) pre", row);
    if (before && after) markPair(before, after);
  }
}

function markPair(before, after) {
  const parts = Diff.diffWordsWithSpace(before.textContent, after.textContent, { maxEditLength: MOST_EDITS });
  // Where next to everything differs, marks would only be noise.
  if (!parts || !parts.some((part) => !part.added && !part.removed && part.value.trim())) return;
  before.replaceChildren(
    ...parts.filter((part) => !part.added).map((part) => (part.removed ? h("del", {}, part.value) : part.value)),
  );
  after.replaceChildren(
    ...parts.filter((part) => !part.removed).map((part) => (part.added ? h("ins", {}, part.value) : part.value)),
  );
}
