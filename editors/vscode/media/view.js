// The script of the extension's webviews: tells which button was pressed, and moves between the rows of a list.
(function () {
  "use strict";
  const vscode = acquireVsCodeApi();

  document.addEventListener("click", (event) => {
    const button = event.target instanceof Element ? event.target.closest("button") : null;
    if (button === null) return;
    const { open, name } = button.dataset;
    if (open !== undefined) vscode.postMessage({ open: Number(open) });
    else if (name !== undefined) vscode.postMessage({ name: Number(name) });
    else if (button.dataset.do !== undefined) vscode.postMessage({ do: button.dataset.do });
  });

  document.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const here = document.activeElement;
    if (step === undefined || !(here instanceof HTMLElement) || !here.matches("button.row")) return;
    const rows = [...document.querySelectorAll("button.row")].filter((row) => row.getClientRects().length > 0);
    const next = rows[rows.indexOf(here) + step];
    if (next === undefined) return;
    next.focus();
    event.preventDefault();
  });
})();
