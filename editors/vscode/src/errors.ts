// Errors for people: one sentence that says what was wrong and what to do.

/** Trouble that the user can mend; the text goes to them as it stands. */
export class UserError extends Error {}

/** Trouble that the user has been told of already. */
export class Told extends UserError {}

/** What was asked for is no longer wanted. */
export class Cancelled extends Error {
  constructor() {
    super("Cancelled.");
  }
}

const REQUEST_CANCELLED = -32800;
const REJECTED = new Set([-32097, -32099]); // the answer is lost; the connection is down

function code(error: unknown): number | undefined {
  const found = (error as { code?: unknown } | undefined)?.code;
  return typeof found === "number" ? found : undefined;
}

export function isCancelled(error: unknown): boolean {
  return error instanceof Cancelled || code(error) === REQUEST_CANCELLED || (error as Error)?.name === "Canceled";
}

/** Whether a request failed because the server went away under it, so that asking again makes sense. */
export function isLost(error: unknown): boolean {
  const text = String((error as Error)?.message ?? error);
  return REJECTED.has(code(error) ?? 0) || /connection (is|got) (closed|disposed)|client is not running|EPIPE|ERR_STREAM_DESTROYED|write after end/i.test(text);
}

export function sentence(error: unknown): string {
  const text = error instanceof Error ? error.message : String((error as { message?: unknown })?.message ?? error);
  const line = text.trim().split("\n")[0] ?? "";
  const whole = line || "Something went wrong that did not say what it was; see the log.";
  return /[.!?…]$/.test(whole) ? whole : `${whole}.`;
}
