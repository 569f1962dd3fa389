// What is wider than the page scrolls by itself. The keyboard has to reach it too.
document$.subscribe(() => {
  const mark = () => {
    for (const one of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset p:has(> img)")) {
      if (one.scrollWidth > one.clientWidth) one.tabIndex = 0;
    }
  };
  setTimeout(mark);
  addEventListener("load", mark);
});
