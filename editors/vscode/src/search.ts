// Command “Search…”: search as you type; results can be opened or mentioned.

import * as vscode from "vscode";
import { UserError, errorSentence, isCancelled } from "./errors";
import { hitLabel } from "./format";
import { withErrorNotification } from "./notifications";
import { openPromptDocument, uriMention } from "./prompt_builder";
import type { Item, SearchResult } from "./protocol";
import type { Server } from "./server";
import { openLocation } from "./open_location";

const MAX_HITS = 30;
/** Delay after the last keystroke before a search starts, in milliseconds. */
const DEBOUNCE_MS = 120;

interface Choice extends vscode.QuickPickItem {
  hit?: Item;
}

const OPEN_TO_SIDE_BUTTON = { iconPath: new vscode.ThemeIcon("split-horizontal"), tooltip: "Open to the side" };
const MENTION_BUTTON = { iconPath: new vscode.ThemeIcon("mention"), tooltip: "Mention in a new prompt document" };

export function showSearch(server: Server): void {
  const input = vscode.window.createQuickPick<Choice>();
  input.title = "Search by meaning, keywords and calls";
  input.placeholder = "Question in plain words, or a name";
  let timer: NodeJS.Timeout | undefined;
  let pending: vscode.CancellationTokenSource | undefined;

  const runSearch = async (query: string): Promise<void> => {
    const source = (pending = new vscode.CancellationTokenSource());
    input.busy = true;
    try {
      const { hits } = await server.request<SearchResult>("search", { query, limit: MAX_HITS }, source.token);
      if (source !== pending) return;
      input.items = hits.length ? toChoices(hits) : [{ label: "No results.", alwaysShow: true }];
    } catch (error) {
      if (source === pending && !isCancelled(error)) input.items = [{ label: errorSentence(error), alwaysShow: true }];
    } finally {
      if (source === pending) input.busy = false;
    }
  };

  input.onDidChangeValue((value) => {
    clearTimeout(timer);
    pending?.cancel();
    if (value.trim()) timer = setTimeout(() => void runSearch(value), DEBOUNCE_MS);
    else input.items = [];
  });
  input.onDidAccept(
    withErrorNotification(async () => {
      const hit = input.selectedItems[0]?.hit;
      if (hit === undefined) return;
      input.hide();
      await openLocation(hit);
    }),
  );
  input.onDidTriggerItemButton(
    withErrorNotification(async ({ item, button }) => {
      if (item.hit === undefined) return;
      input.hide();
      if (button === MENTION_BUTTON) await openPromptDocument(`\n\n${hitMention(item.hit)}\n`);
      else await openLocation(item.hit, vscode.ViewColumn.Beside);
    }),
  );
  input.onDidHide(() => {
    clearTimeout(timer);
    pending?.cancel();
    input.dispose();
  });
  input.show();
}

function toChoices(hits: readonly Item[]): Choice[] {
  return hits.map((hit) => ({
    ...hitLabel(hit),
    hit,
    alwaysShow: true,
    buttons: [MENTION_BUTTON, OPEN_TO_SIDE_BUTTON],
  }));
}

function hitMention(hit: Item): string {
  const mention = uriMention(vscode.Uri.parse(hit.uri), hit.range);
  if (mention === undefined) throw new UserError(`${hit.path} is outside of the workspace and cannot be mentioned.`);
  return mention;
}
