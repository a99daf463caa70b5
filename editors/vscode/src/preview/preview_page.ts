// HTML of the prompt preview: tokens by section, items, omitted items, outcomes of mentions, and the text.  Pure: does
// not import vscode.

import { fileName, formatCount, formatLocation, formatTokenUsage, pluralize } from "../format";
import type { BuildResult, Item, Mention, OmittedItem } from "../protocol";
import { type Html, type PageLinks, html } from "../webview/html";

/** Maximum number of omitted items listed. */
const MAX_OMITTED_ITEMS = 100;
/** Number of section colors in media/view.css. */
const SECTION_COLORS = 6;

type PathOf = (uri: string) => string;

/** Return the text of a prompt as it is sent. */
export function promptText(result: BuildResult): string {
  if (typeof result.prompt === "string") return result.prompt;
  return (result.messages ?? []).map((message) => `[${message.role}]\n${message.content}`).join("\n\n");
}

export function previewPage(result: BuildResult, links: PageLinks, pathOf: PathOf = fileName): Html {
  return html`
<header>
  <h1>Prompt</h1>
  <p class="token-usage">${formatTokenUsage(result.tokens)}</p>
  ${tokenBar(result)}
  <div class="tools" role="toolbar" aria-label="Actions">
    <button type="button" class="main" data-action="copy">Copy</button>
    <button type="button" data-action="document">Open as Document</button>
    <button type="button" data-action="chat">Send to Chat</button>
    <button type="button" data-action="rebuild" title="Build the prompt from the current state of the workspace">Rebuild</button>
  </div>
</header>
${warningList(result)}
${result.mentions.length > 0 && html`<section aria-labelledby="mentions"><h2 id="mentions">${pluralize(result.mentions.length, "mention")}</h2><ul class="rows">${result.mentions.map((mention) => mentionRow(mention, links))}</ul></section>`}
<section aria-labelledby="items"><h2 id="items">${result.items.length ? `${pluralize(result.items.length, "item")} in the prompt` : "No code in the prompt"}</h2>
<ol class="rows">${result.items.map((item) => itemRow(item, links))}</ol></section>
${omittedSection(result, links, pathOf)}
<section aria-labelledby="text"><h2 id="text">Text</h2>${textBlocks(result)}</section>
<footer>${result.trace.line}</footer>`;
}

/** Return a bar chart of the tokens by section; its legend has the numbers for screen readers. */
function tokenBar(result: BuildResult): Html {
  const { budget, sections } = result.tokens;
  const used = Object.entries(sections).filter(([, tokens]) => tokens > 0);
  const total = Math.max(budget, 1);
  let offset = 0;
  const rects = used.map(([name, tokens], i) => {
    const x = offset;
    offset += (100 * tokens) / total;
    return html`<rect class="part part-${i % SECTION_COLORS}" x="${x.toFixed(3)}" y="0" width="${((100 * tokens) / total).toFixed(3)}" height="10"><title>${name}: ${formatCount(tokens)}</title></rect>`;
  });
  const label = used.map(([name, tokens]) => `${name} ${formatCount(tokens)}`).join(", ");
  const free = Math.max(0, budget - result.tokens.used);
  return html`<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label="Tokens by section: ${label}; ${formatCount(free)} free"><rect class="free" x="0" y="0" width="100" height="10"></rect>${rects}</svg>
<ul class="legend">${used.map(([name, tokens], i) => html`<li><svg class="key" viewBox="0 0 10 10" aria-hidden="true"><rect class="part part-${i % SECTION_COLORS}" width="10" height="10"></rect></svg>${name} <b>${formatCount(tokens)}</b></li>`)}<li><svg class="key" viewBox="0 0 10 10" aria-hidden="true"><rect class="free" width="10" height="10"></rect></svg>free <b>${formatCount(free)}</b></li></ul>`;
}

function warningList(result: BuildResult): Html | false {
  const warnings = [...result.warnings];
  if (result.index.complete < 1) warnings.splice(1, 0, "The prompt is built again when the index is complete.");
  return (
    warnings.length > 0 &&
    html`<ul class="warnings" role="alert">${warnings.map((warning) => html`<li>${warning}</li>`)}</ul>`
  );
}

function mentionRow(mention: Mention, links: PageLinks): Html {
  const included = mention.status === "included";
  const target = mention.targets[0];
  const notes = [
    mention.reason,
    mention.suggestion ? `Did you mean ${mention.suggestion}?` : "",
    mention.candidates?.length ? `Candidates: ${mention.candidates.join(", ")}` : "",
  ].filter(Boolean);
  return html`<li>${links.locationButton(
    target,
    html`<code>${mention.text}</code> <span class="badge ${included ? "good" : "bad"}">${mention.status}</span>${mention.tokens > 0 && html` <span class="dim">${pluralize(mention.tokens, "token")}</span>`}`,
    target ? "Open target" : "",
  )}${notes.length > 0 && html`<p class="note">${notes.join(" ")}</p>`}</li>`;
}

function itemRow(item: Item, links: PageLinks): Html {
  const details = [
    item.citation,
    item.form && item.form !== "full" ? item.form : "",
    item.tokens === undefined ? "" : pluralize(item.tokens, "token"),
    item.unsaved ? "unsaved" : "",
  ].filter(Boolean);
  return html`<li>${links.locationButton(
    item,
    html`<code>${formatLocation(item.path, item.range)}</code>${item.symbol && html` <b>${item.symbol}</b>`} <span class="dim">${details.join(" · ")}</span>`,
    "Open item",
  )}<p class="note">${item.why}</p></li>`;
}

function omittedSection(result: BuildResult, links: PageLinks, pathOf: PathOf): Html | false {
  if (!result.omitted.length && !result.droppedCount) return false;
  const hidden = result.omitted.length - MAX_OMITTED_ITEMS;
  return html`<details><summary><h2>${pluralize(result.omitted.length, "item")} omitted</h2></summary>
<ol class="rows">${result.omitted.slice(0, MAX_OMITTED_ITEMS).map((item) => omittedRow(item, links, pathOf))}</ol>
${hidden > 0 && html`<p class="note">and ${formatCount(hidden)} more</p>`}</details>`;
}

function omittedRow(item: OmittedItem, links: PageLinks, pathOf: PathOf): Html {
  return html`<li>${links.locationButton(item, html`<code>${formatLocation(pathOf(item.uri), item.range)}</code>${item.tokens > 0 && html` <span class="dim">${pluralize(item.tokens, "token")}</span>`}`, "Open item")}<p class="note">${item.reason}</p></li>`;
}

function textBlocks(result: BuildResult): Html | Html[] {
  if (typeof result.prompt === "string") return html`<pre tabindex="0" aria-label="Prompt">${result.prompt}</pre>`;
  return (result.messages ?? []).map(
    (message) =>
      html`<h3>${message.role}</h3><pre tabindex="0" aria-label="Message, role ${message.role}">${message.content}</pre>`,
  );
}

/** Return the title of the preview panel. */
export function previewTitle(result: BuildResult): string {
  return `Prompt: ${pluralize(result.tokens.used, "token")}`;
}
