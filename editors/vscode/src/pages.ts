// Pages beside the preview: a definition explained, the graph around a question, call paths, what can be mentioned.
// Pure.

import { nodeName, where } from "./format";
import type { Edge, Explanation, Graph, MentionKinds, Node, Relation } from "./protocol";
import { type Html, type Places, html } from "./view/html";

const RELATIONS: readonly [Relation, string][] = [
  ["children", "Contains"],
  ["callers", "Called by"],
  ["callees", "Calls"],
  ["supertypes", "Extends"],
  ["subtypes", "Extended by"],
  ["users", "Used by"],
  ["tests", "Tested by"],
  ["imports", "Imports"],
  ["importers", "Imported by"],
  ["documents", "Described in"],
  ["others", "Others of that name"],
];

export function explanationPage(found: Explanation, places: Places): Html {
  const node = found.node;
  if (!found.found || node === undefined) return missing(places, found.problem, found.suggestions);
  return html`
<header><h1>${nodeName(node)} <span class="dim">${node.type}</span></h1>
<p>${places.button(node, html`<code>${where(node.path, node.range)}</code>`, "Open it")}</p>
<p class="dim">${node.layer}</p></header>
${found.signature && html`<pre tabindex="0" aria-label="Signature">${found.signature}</pre>`}
${(found.doc || node.summary) && html`<p class="doc">${found.doc || node.summary}</p>`}
${RELATIONS.map(([relation, title]) => nodes(title, found[relation] ?? [], places))}`;
}

export function graphPage(graph: Graph, title: string, places: Places): Html {
  if (graph.problem) return missing(places, graph.problem, graph.suggestions);
  const byId = new Map(graph.nodes.map((node) => [node.id, node]));
  const about = [graph.project.languages.join(", "), graph.project.frameworks.join(", ")].filter(Boolean).join(" · ");
  return html`
<header><h1>${title}</h1><p>${graph.project.description || graph.project.name}</p><p class="dim">${about}</p></header>
${(graph.paths ?? []).map((path, i) => callPath(path, i, byId, places))}
${graph.layers.map((layer) =>
  nodes(
    layer.name,
    layer.nodes.map((id) => byId.get(id)).filter((node) => node !== undefined),
    places,
    layer.about,
  ),
)}
${graph.edges.length > 0 && html`<section><h2>Relations</h2><ul class="rows">${graph.edges.map((edge) => relation(edge, byId, places))}</ul></section>`}`;
}

export function kindsPage(all: MentionKinds): Html {
  return html`<header><h1>What can be mentioned</h1></header>
${all.kinds.map((kind) => html`<section><h2>${kind.name}</h2><p>${kind.help}</p><p>${kind.syntax.map((one) => html`<code>${one}</code> `)}</p></section>`)}`;
}

function missing(places: Places, problem = "Nothing was found.", suggestions: readonly string[] = []): Html {
  return html`<header><h1>Not found</h1></header><p>${problem}</p>
${suggestions.length > 0 && html`<h2>Near names</h2><ul class="rows">${suggestions.map((name) => html`<li>${places.name(name)}</li>`)}</ul>`}`;
}

function nodes(title: string, found: readonly Node[], places: Places, about = ""): Html | false {
  return (
    found.length > 0 &&
    html`<section><h2>${title}</h2>${about && html`<p class="dim">${about}</p>`}<ul class="rows">${found.map((node) => row(node, places))}</ul></section>`
  );
}

function row(node: Node, places: Places): Html {
  return html`<li>${places.button(node, html`<b>${nodeName(node)}</b> <span class="dim">${node.type}</span> <code>${where(node.path, node.range)}</code>`, "Open it")}${node.summary && html`<p class="note">${node.summary}</p>`}</li>`;
}

function callPath(ids: readonly string[], at: number, byId: ReadonlyMap<string, Node>, places: Places): Html {
  const steps = ids.map((id) => {
    const node = byId.get(id);
    return html`<li>${places.button(node, html`<b>${node ? nodeName(node) : id}</b> ${node && html`<code>${where(node.path, node.range)}</code>`}`, "Open it")}</li>`;
  });
  return html`<section><h2>Path ${at + 1}</h2><ol class="rows path">${steps}</ol></section>`;
}

function relation(edge: Edge, byId: ReadonlyMap<string, Node>, places: Places): Html {
  const name = (id: string): string => {
    const node = byId.get(id);
    return node ? nodeName(node) : id;
  };
  const line = edge.line;
  const start = { line: line ?? 0, character: 0 };
  const place = edge.uri !== undefined && line !== undefined ? { uri: edge.uri, range: { start, end: start } } : undefined;
  return html`<li>${places.button(place, html`<b>${name(edge.source)}</b> <span class="dim">${edge.type}</span> <b>${name(edge.target)}</b>`, "Open where it says so")}${edge.description && html`<p class="note">${edge.description}</p>`}</li>`;
}
