// HTML of webviews.  All values are escaped, scripts and styles come from files of the extension, and a page refers
// to locations by index only.  Pure: does not import vscode.

import type { Location } from "../protocol";

/** Escaped HTML. */
export interface Html {
  readonly html: string;
}

const ESCAPES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => ESCAPES[char] as string);
}

type Value = Html | readonly Value[] | string | number | false | null | undefined;

/** Template tag that escapes its values, except values of type `Html`. */
export function html(strings: TemplateStringsArray, ...values: Value[]): Html {
  return { html: strings.map((text, i) => text + (i < values.length ? renderValue(values[i]) : "")).join("") };
}

function renderValue(value: Value): string {
  if (value === false || value === null || value === undefined) return "";
  if (typeof value === "string") return escapeHtml(value);
  if (typeof value === "number") return String(value);
  if (Array.isArray(value)) return value.map(renderValue).join("");
  return (value as Html).html;
}

/** Link targets of a page.  The page contains their indices only, so it cannot name other targets. */
export class PageLinks {
  readonly locations: Location[] = [];
  readonly symbols: string[] = [];

  /** Return a button that opens a location. */
  locationButton(location: Location | undefined, content: Html, tooltip = ""): Html {
    if (location === undefined) return html`<span class="row">${content}</span>`;
    const index = this.locations.push(location) - 1;
    return html`<button type="button" class="row" data-open="${index}" title="${tooltip}">${content}</button>`;
  }

  /** Return a button that explains a symbol. */
  symbolButton(name: string): Html {
    const index = this.symbols.push(name) - 1;
    return html`<button type="button" class="row" data-symbol="${index}"><code>${name}</code></button>`;
  }
}

export interface PageOptions {
  title: string;
  body: Html;
  nonce: string;
  /** Content security policy source of the extension's files. */
  cspSource: string;
  styleUri: string;
  scriptUri: string;
}

/** Return the complete HTML document. */
export function renderPage(options: PageOptions): string {
  const { cspSource, nonce } = options;
  const policy = `default-src 'none'; style-src ${cspSource}; script-src 'nonce-${nonce}'; font-src ${cspSource}; base-uri 'none'; form-action 'none'`;
  return html`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${options.styleUri}">
<title>${options.title}</title>
</head>
<body>
<main>${options.body}</main>
<script nonce="${nonce}" src="${options.scriptUri}"></script>
</body>
</html>`.html;
}
