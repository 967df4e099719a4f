// What scrolls sideways can be reached with Tab, and then scrolled by arrow keys.
for (const box of document.querySelectorAll("pre, .table-wrapper"))
  if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
