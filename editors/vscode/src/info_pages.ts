// HTML of the info panel: explanation of a symbol, knowledge graph, call paths, mention kinds.  Pure: does not import
// vscode.

import { formatLocation, nodeName } from "./format";
import type { Edge, Explanation, Graph, MentionKinds, Node, Relation } from "./protocol";
import { type Html, type PageLinks, html } from "./webview/html";

const OPEN_FILE = "Open file";

const RELATION_TITLES: readonly [Relation, string][] = [
  ["children", "Contains"],
  ["callers", "Called by"],
  ["callees", "Calls"],
  ["supertypes", "Extends"],
  ["subtypes", "Extended by"],
  ["users", "Used by"],
  ["tests", "Tested by"],
  ["imports", "Imports"],
  ["importers", "Imported by"],
  ["documents", "Documented in"],
  ["others", "Other definitions of this name"],
];

export function explanationPage(explanation: Explanation, links: PageLinks): Html {
  const node = explanation.node;
  if (!explanation.found || node === undefined) return notFoundPage(links, explanation.problem, explanation.suggestions);
  return html`
<header><h1>${nodeName(node)} <span class="dim">${node.type}</span></h1>
<p>${links.locationButton(node, html`<code>${formatLocation(node.path, node.range)}</code>`, OPEN_FILE)}</p>
<p class="dim">${node.layer}</p></header>
${explanation.signature && html`<pre tabindex="0" aria-label="Signature">${explanation.signature}</pre>`}
${(explanation.doc || node.summary) && html`<p class="doc">${explanation.doc || node.summary}</p>`}
${RELATION_TITLES.map(([relation, title]) => nodeSection(title, explanation[relation] ?? [], links))}`;
}

export function graphPage(graph: Graph, title: string, links: PageLinks): Html {
  if (graph.problem) return notFoundPage(links, graph.problem, graph.suggestions);
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
  const { project } = graph;
  const technologies = [project.languages.join(", "), project.frameworks.join(", ")].filter(Boolean).join(" · ");
  return html`
<header><h1>${title}</h1><p>${project.description || project.name}</p><p class="dim">${technologies}</p></header>
${(graph.paths ?? []).map((path, i) => callPathSection(path, i, nodes, links))}
${graph.layers.map((layer) =>
  nodeSection(
    layer.name,
    layer.nodes.map((id) => nodes.get(id)).filter((node) => node !== undefined),
    links,
    layer.about,
  ),
)}
${graph.edges.length > 0 && html`<section><h2>Relations</h2><ul class="rows">${graph.edges.map((edge) => edgeRow(edge, nodes, links))}</ul></section>`}`;
}

export function mentionKindsPage({ kinds }: MentionKinds): Html {
  return html`<header><h1>Mention kinds</h1></header>
${kinds.map((kind) => html`<section><h2>${kind.name}</h2><p>${kind.help}</p><p>${kind.syntax.map((example) => html`<code>${example}</code> `)}</p></section>`)}`;
}

function notFoundPage(links: PageLinks, problem = "No results.", suggestions: readonly string[] = []): Html {
  return html`<header><h1>Not found</h1></header><p>${problem}</p>
${suggestions.length > 0 && html`<h2>Similar names</h2><ul class="rows">${suggestions.map((name) => html`<li>${links.symbolButton(name)}</li>`)}</ul>`}`;
}

function nodeSection(title: string, nodes: readonly Node[], links: PageLinks, description = ""): Html | false {
  return (
    nodes.length > 0 &&
    html`<section><h2>${title}</h2>${description && html`<p class="dim">${description}</p>`}<ul class="rows">${nodes.map((node) => nodeRow(node, links))}</ul></section>`
  );
}

function nodeRow(node: Node, links: PageLinks): Html {
  return html`<li>${links.locationButton(node, html`<b>${nodeName(node)}</b> <span class="dim">${node.type}</span> <code>${formatLocation(node.path, node.range)}</code>`, OPEN_FILE)}${node.summary && html`<p class="note">${node.summary}</p>`}</li>`;
}

function callPathSection(
  ids: readonly string[],
  index: number,
  nodes: ReadonlyMap<string, Node>,
  links: PageLinks,
): Html {
  const steps = ids.map((id) => {
    const node = nodes.get(id);
    return html`<li>${links.locationButton(node, html`<b>${node ? nodeName(node) : id}</b> ${node && html`<code>${formatLocation(node.path, node.range)}</code>`}`, OPEN_FILE)}</li>`;
  });
  return html`<section><h2>Path ${index + 1}</h2><ol class="rows path">${steps}</ol></section>`;
}

function edgeRow(edge: Edge, nodes: ReadonlyMap<string, Node>, links: PageLinks): Html {
  const nameOf = (id: string): string => {
    const node = nodes.get(id);
    return node ? nodeName(node) : id;
  };
  const start = { line: edge.line ?? 0, character: 0 };
  const location =
    edge.uri !== undefined && edge.line !== undefined ? { uri: edge.uri, range: { start, end: start } } : undefined;
  return html`<li>${links.locationButton(location, html`<b>${nameOf(edge.source)}</b> <span class="dim">${edge.type}</span> <b>${nameOf(edge.target)}</b>`, "Open reference")}${edge.description && html`<p class="note">${edge.description}</p>`}</li>`;
}
