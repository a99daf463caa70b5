// Script of the webviews: posts clicks on buttons to the extension, and moves between rows with the arrow keys.
(function () {
  "use strict";
  const vscode = acquireVsCodeApi();

  document.addEventListener("click", (event) => {
    const button = event.target instanceof Element ? event.target.closest("button") : null;
    if (button === null) return;
    const { open, symbol, action } = button.dataset;
    if (open !== undefined) vscode.postMessage({ open: Number(open) });
    else if (symbol !== undefined) vscode.postMessage({ symbol: Number(symbol) });
    else if (action !== undefined) vscode.postMessage({ action });
  });

  document.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const focused = document.activeElement;
    if (step === undefined || !(focused instanceof HTMLElement) || !focused.matches("button.row")) return;
    const rows = [...document.querySelectorAll("button.row")].filter((row) => row.getClientRects().length > 0);
    const next = rows[rows.indexOf(focused) + step];
    if (next === undefined) return;
    next.focus();
    event.preventDefault();
  });
})();
