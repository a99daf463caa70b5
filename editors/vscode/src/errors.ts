// Error classes, and conversion of any error to one sentence for the user.

/** An error that the user can fix.  Its message is shown unchanged. */
export class UserError extends Error {}

/** An error that was already shown to the user. */
export class ReportedError extends UserError {}

/** The operation was cancelled. */
export class CancelledError extends Error {
  constructor() {
    super("Cancelled.");
  }
}

const REQUEST_CANCELLED = -32800;
/** JSON-RPC error codes of vscode-jsonrpc: pending response rejected, connection inactive. */
const CONNECTION_LOST = new Set([-32097, -32099]);

function errorCode(error: unknown): number | undefined {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === "number" ? code : undefined;
}

export function isCancelled(error: unknown): boolean {
  return (
    error instanceof CancelledError || errorCode(error) === REQUEST_CANCELLED || (error as Error)?.name === "Canceled"
  );
}

/** Check whether a request failed because the server exited, so that it can be retried. */
export function isConnectionLost(error: unknown): boolean {
  const text = String((error as Error)?.message ?? error);
  return (
    CONNECTION_LOST.has(errorCode(error) ?? 0) ||
    /connection (is|got) (closed|disposed)|client is not running|EPIPE|ERR_STREAM_DESTROYED|write after end/i.test(text)
  );
}

/** Return the first line of an error's message, ending with punctuation. */
export function errorSentence(error: unknown): string {
  const text = error instanceof Error ? error.message : String((error as { message?: unknown })?.message ?? error);
  const line = text.trim().split("\n")[0] ?? "";
  const sentence = line || "Unknown error; see the log.";
  return /[.!?…]$/.test(sentence) ? sentence : `${sentence}.`;
}
