// Before anything shows: what needs scripts may show, and the colours that the reader chose last time.
document.documentElement.classList.add("js");
try {
  const chosen = localStorage.getItem("modelyard-theme");
  if (chosen) document.documentElement.dataset.theme = chosen;
} catch {
  // A viewer that keeps nothing: the system's colours it is.
}
