// How the user hears of things: errors as one sentence, long work with a way to stop it.

import * as vscode from "vscode";
import { Told, isCancelled, sentence } from "./errors";

const PATIENCE_MS = 400;

/** A function whose errors go to the user. */
export function guarded<A extends unknown[]>(work: (...args: A) => unknown): (...args: A) => Promise<void> {
  return async (...args) => {
    try {
      await work(...args);
    } catch (error) {
      if (isCancelled(error) || error instanceof Told) return;
      void vscode.window.showErrorMessage(`promptls: ${sentence(error)}`);
    }
  };
}

/** Run something that can be stopped; when it takes its time, a notification says so and has a button for it. */
export async function patiently<T>(title: string, work: (token: vscode.CancellationToken) => Promise<T>): Promise<T> {
  const source = new vscode.CancellationTokenSource();
  const running = work(source.token);
  const timer = setTimeout(() => {
    const options = { location: vscode.ProgressLocation.Notification, title: `promptls: ${title}`, cancellable: true };
    void vscode.window.withProgress(options, async (_, token) => {
      token.onCancellationRequested(() => source.cancel());
      await running.catch(() => undefined);
    });
  }, PATIENCE_MS);
  try {
    return await running;
  } finally {
    clearTimeout(timer);
    source.dispose();
  }
}
