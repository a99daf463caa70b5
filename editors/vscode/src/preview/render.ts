// The preview of a built prompt as a page: what it costs, what is in, what was left out and why, what became of
// each mention, and the text itself.  Pure: the tests render every golden message with it.

import { count, fileName, plural, reasons, spent, where } from "../format";
import type { Built, Item, Mention, Omitted } from "../protocol";
import { type Html, Places, html } from "../view/html";

const OMITTED_SHOWN = 100;

/** The text as it is sent. */
export function promptText(built: Built): string {
  if (typeof built.prompt === "string") return built.prompt;
  return (built.messages ?? []).map((m) => `[${m.role}]\n${m.content}`).join("\n\n");
}

export function preview(built: Built, places: Places, path: (uri: string) => string = fileName): Html {
  return html`
<header>
  <h1>Prompt</h1>
  <p class="spent">${spent(built.tokens)}</p>
  ${bar(built)}
  <div class="tools" role="toolbar" aria-label="What to do with the prompt">
    <button type="button" class="main" data-do="copy">Copy</button>
    <button type="button" data-do="document">Open as Document</button>
    <button type="button" data-do="chat">Send to Chat</button>
    <button type="button" data-do="again" title="Build it from the workspace as it is now">Build Again</button>
  </div>
</header>
${warnings(built)}
${built.mentions.length > 0 && html`<section aria-labelledby="mentions"><h2 id="mentions">${plural(built.mentions.length, "mention")}</h2><ul class="rows">${built.mentions.map((m) => mention(m, places))}</ul></section>`}
<section aria-labelledby="items"><h2 id="items">${built.items.length ? `${plural(built.items.length, "region")} in the prompt` : "No code in the prompt"}</h2>
<ol class="rows">${built.items.map((item) => included(item, places))}</ol></section>
${omissions(built, places, path)}
<section aria-labelledby="text"><h2 id="text">Text</h2>${text(built)}</section>
<footer>${built.trace.line}</footer>`;
}

/** One bar, a part for each section; the numbers stand beside it, for those who do not see it. */
function bar(built: Built): Html {
  const { budget, sections } = built.tokens;
  const parts = Object.entries(sections).filter(([, tokens]) => tokens > 0);
  const whole = Math.max(budget, 1);
  let at = 0;
  const rects = parts.map(([name, tokens], i) => {
    const from = at;
    at += (100 * tokens) / whole;
    return html`<rect class="part part-${i % 6}" x="${from.toFixed(3)}" y="0" width="${((100 * tokens) / whole).toFixed(3)}" height="10"><title>${name}: ${count(tokens)}</title></rect>`;
  });
  const label = parts.map(([name, tokens]) => `${name} ${count(tokens)}`).join(", ");
  const free = Math.max(0, budget - built.tokens.used);
  return html`<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label="Tokens by section: ${label}; ${count(free)} free"><rect class="free" x="0" y="0" width="100" height="10"></rect>${rects}</svg>
<ul class="legend">${parts.map(([name, tokens], i) => html`<li><svg class="key" viewBox="0 0 10 10" aria-hidden="true"><rect class="part part-${i % 6}" width="10" height="10"></rect></svg>${name} <b>${count(tokens)}</b></li>`)}<li><svg class="key" viewBox="0 0 10 10" aria-hidden="true"><rect class="free" width="10" height="10"></rect></svg>free <b>${count(free)}</b></li></ul>`;
}

function warnings(built: Built): Html | false {
  const said = [...built.warnings];
  if (built.index.complete < 1) said.unshift(`The index is not complete yet. ${built.index.message}`);
  return said.length > 0 && html`<ul class="warnings" role="alert">${said.map((one) => html`<li>${one}</li>`)}</ul>`;
}

function mention(one: Mention, places: Places): Html {
  const fine = one.status === "included";
  const hints = [
    one.reason,
    one.suggestion ? `Did you mean ${one.suggestion}?` : "",
    one.candidates?.length ? `Candidates: ${one.candidates.join(", ")}` : "",
  ].filter(Boolean);
  return html`<li>${places.button(
    one.targets[0],
    html`<code>${one.text}</code> <span class="badge ${fine ? "good" : "bad"}">${one.status}</span>${one.tokens > 0 && html` <span class="dim">${plural(one.tokens, "token")}</span>`}`,
    one.targets[0] ? "Open what it names" : "",
  )}${hints.length > 0 && html`<p class="note">${hints.join(" ")}</p>`}</li>`;
}

function included(item: Item, places: Places): Html {
  const facts = [
    item.citation,
    item.form && item.form !== "full" ? item.form : "",
    item.tokens === undefined ? "" : plural(item.tokens, "token"),
    item.version === "disk" ? "" : "as edited",
  ].filter(Boolean);
  return html`<li>${places.button(
    item,
    html`<code>${where(item.path, item.range)}</code>${item.symbol && html` <b>${item.symbol}</b>`} <span class="dim">${facts.join(" · ")}</span>`,
    "Open this region",
  )}<p class="note">${item.origin}${Object.keys(item.reasons ?? {}).length > 0 && `: ${reasons(item)}`}</p></li>`;
}

function omissions(built: Built, places: Places, path: (uri: string) => string): Html | false {
  if (!built.omitted.length && !built.droppedCount) return false;
  const more = built.omitted.length - OMITTED_SHOWN;
  return html`<details><summary><h2>${plural(built.omitted.length, "region")} left out</h2></summary>
<ol class="rows">${built.omitted.slice(0, OMITTED_SHOWN).map((one) => omitted(one, places, path))}</ol>
${more > 0 && html`<p class="note">and ${count(more)} more</p>`}</details>`;
}

function omitted(one: Omitted, places: Places, path: (uri: string) => string): Html {
  return html`<li>${places.button(one, html`<code>${where(path(one.uri), one.range)}</code>${one.tokens > 0 && html` <span class="dim">${plural(one.tokens, "token")}</span>`}`, "Open this region")}<p class="note">${one.reason}</p></li>`;
}

function text(built: Built): Html | Html[] {
  if (typeof built.prompt === "string") return html`<pre tabindex="0" aria-label="The prompt">${built.prompt}</pre>`;
  return (built.messages ?? []).map(
    (m) => html`<h3>${m.role}</h3><pre tabindex="0" aria-label="Message of the ${m.role}">${m.content}</pre>`,
  );
}

/** What the title of the panel says. */
export function previewTitle(built: Built): string {
  return `Prompt: ${count(built.tokens.used)} tokens`;
}
