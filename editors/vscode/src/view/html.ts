// Pages for webviews: everything that comes from outside is escaped, scripts and styles are files of the extension,
// and the places that a page leads to stay here, so that a page can only ask for the n-th of them.  Pure.

import type { Place } from "../protocol";

/** A piece of HTML that is safe to show. */
export interface Html {
  readonly html: string;
}

const ESCAPES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

export function escape(text: string): string {
  return text.replace(/[&<>"']/g, (char) => ESCAPES[char] as string);
}

type Part = Html | readonly Part[] | string | number | false | null | undefined;

/** A template whose values are escaped, unless they are HTML made here. */
export function html(strings: TemplateStringsArray, ...values: Part[]): Html {
  return { html: strings.map((text, i) => text + (i < values.length ? shown(values[i]) : "")).join("") };
}

function shown(part: Part): string {
  if (part === false || part === null || part === undefined) return "";
  if (typeof part === "string") return escape(part);
  if (typeof part === "number") return String(part);
  if (Array.isArray(part)) return part.map(shown).join("");
  return (part as Html).html;
}

/** The places, and the names to look up, that a page leads to. */
export class Places {
  readonly all: Place[] = [];
  readonly names: string[] = [];

  /** A button that opens a place; only its number goes into the page. */
  button(place: Place | undefined, content: Html, hint = ""): Html {
    if (place === undefined) return html`<span class="row">${content}</span>`;
    const index = this.all.push(place) - 1;
    return html`<button type="button" class="row" data-open="${index}" title="${hint}">${content}</button>`;
  }

  /** A button that looks a name up. */
  name(name: string): Html {
    const index = this.names.push(name) - 1;
    return html`<button type="button" class="row" data-name="${index}"><code>${name}</code></button>`;
  }
}

export interface Frame {
  title: string;
  body: Html;
  nonce: string;
  /** Where the extension's own files come from, in the words of the policy. */
  source: string;
  style: string;
  script: string;
}

/** The whole document. */
export function page(frame: Frame): string {
  const policy = `default-src 'none'; style-src ${frame.source}; script-src 'nonce-${frame.nonce}'; font-src ${frame.source}; base-uri 'none'; form-action 'none'`;
  return html`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${frame.style}">
<title>${frame.title}</title>
</head>
<body>
<main>${frame.body}</main>
<script nonce="${frame.nonce}" src="${frame.script}"></script>
</body>
</html>`.html;
}
