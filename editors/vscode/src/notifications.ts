// Notifications: errors as one sentence, and cancellable progress for long operations.

import * as vscode from "vscode";
import { ReportedError, errorSentence, isCancelled } from "./errors";
import { plainText } from "./format";

/** Delay before a progress notification appears, in milliseconds; most operations finish earlier. */
const PROGRESS_DELAY_MS = 400;

/** Show a message without links, because it can quote the workspace, and return the selected action. */
export function showMessage(
  severity: "Error" | "Warning" | "Information",
  message: string,
  ...actions: string[]
): Thenable<string | undefined> {
  const text = message.startsWith("promptls ") ? message : `promptls: ${message}`;
  return vscode.window[`show${severity}Message`](plainText(text), ...actions);
}

/** Wrap a function so that its errors are shown as notifications. */
export function withErrorNotification<A extends unknown[]>(
  callback: (...args: A) => unknown,
): (...args: A) => Promise<void> {
  return async (...args) => {
    try {
      await callback(...args);
    } catch (error) {
      if (isCancelled(error) || error instanceof ReportedError) return;
      void showMessage("Error", errorSentence(error));
    }
  };
}

/**
 * Run a cancellable operation; after a delay, show a progress notification with a cancel button.
 *
 * Throws a `CancellationError` if it was cancelled, also if it has returned a result.
 */
export async function withDelayedProgress<T>(
  title: string,
  operation: (token: vscode.CancellationToken) => Promise<T>,
): Promise<T> {
  const source = new vscode.CancellationTokenSource();
  const running = operation(source.token);
  const timer = setTimeout(() => {
    const options = { location: vscode.ProgressLocation.Notification, title: `promptls: ${title}`, cancellable: true };
    void vscode.window.withProgress(options, async (_, token) => {
      token.onCancellationRequested(() => source.cancel());
      await running.catch(() => undefined);
    });
  }, PROGRESS_DELAY_MS);
  try {
    const result = await running;
    // A server that read the cancellation too late still sends the result.
    if (source.token.isCancellationRequested) throw new vscode.CancellationError();
    return result;
  } finally {
    clearTimeout(timer);
    source.dispose();
  }
}
