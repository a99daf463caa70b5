// Search as one types: ranked regions, opened or mentioned.

import * as vscode from "vscode";
import { UserError, isCancelled, sentence } from "./errors";
import { hitLabel } from "./format";
import { mentionOfUri, openScratch } from "./prompts";
import type { Hits, Item } from "./protocol";
import { guarded } from "./say";
import type { Server } from "./server";
import { openPlace } from "./view/open";

const LIMIT = 30;
const PAUSE_MS = 120;

interface Choice extends vscode.QuickPickItem {
  hit?: Item;
}

const ASIDE = { iconPath: new vscode.ThemeIcon("split-horizontal"), tooltip: "Open to the side" };
const MENTION = { iconPath: new vscode.ThemeIcon("mention"), tooltip: "Mention in a new prompt document" };

export function search(server: Server): void {
  const box = vscode.window.createQuickPick<Choice>();
  box.title = "Search by meaning, words and calls";
  box.placeholder = "What to look for, in plain words or by name";
  let timer: NodeJS.Timeout | undefined;
  let asking: vscode.CancellationTokenSource | undefined;

  const look = async (query: string): Promise<void> => {
    const source = (asking = new vscode.CancellationTokenSource());
    box.busy = true;
    try {
      const found = await server.request<Hits>("search", { query, limit: LIMIT }, source.token);
      if (source !== asking) return;
      box.items = found.hits.length ? choices(found.hits) : [{ label: "Nothing was found.", alwaysShow: true }];
    } catch (error) {
      if (source === asking && !isCancelled(error)) box.items = [{ label: sentence(error), alwaysShow: true }];
    } finally {
      if (source === asking) box.busy = false;
    }
  };

  box.onDidChangeValue((value) => {
    clearTimeout(timer);
    asking?.cancel();
    if (value.trim()) timer = setTimeout(() => void look(value), PAUSE_MS);
    else box.items = [];
  });
  box.onDidAccept(
    guarded(async () => {
      const hit = box.selectedItems[0]?.hit;
      if (hit === undefined) return;
      box.hide();
      await openPlace(hit);
    }),
  );
  box.onDidTriggerItemButton(
    guarded(async ({ item, button }) => {
      if (item.hit === undefined) return;
      box.hide();
      if (button === MENTION) await openScratch(`\n\n${mentionOfHit(item.hit)}\n`);
      else await openPlace(item.hit, vscode.ViewColumn.Beside);
    }),
  );
  box.onDidHide(() => {
    clearTimeout(timer);
    asking?.cancel();
    box.dispose();
  });
  box.show();
}

function choices(hits: readonly Item[]): Choice[] {
  return hits.map((hit) => ({ ...hitLabel(hit), hit, alwaysShow: true, buttons: [MENTION, ASIDE] }));
}

function mentionOfHit(hit: Item): string {
  const mention = mentionOfUri(vscode.Uri.parse(hit.uri), hit.range);
  if (mention === undefined) throw new UserError(`${hit.path} lies outside of the workspace, so no mention leads to it.`);
  return mention;
}
