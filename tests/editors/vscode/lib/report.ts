// What the tests say: one line a check, and the count at the end.

export interface Report {
  passed: number;
  failed: number;
  check(suite: string, name: string, error?: unknown): void;
}

export function createReport(): Report {
  let last = Date.now();
  return {
    passed: 0,
    failed: 0,
    check(suite, name, error) {
      const took = (Date.now() - last) / 1000;
      last = Date.now();
      if (error === undefined) {
        this.passed++;
        console.log(`ok    ${suite}  ${name}${took >= 1 ? ` (${took.toFixed(1)} s)` : ""}`);
      } else {
        this.failed++;
        const text = error instanceof Error ? error.message : String(error);
        console.log(`FAIL  ${suite}  ${name}\n        ${text.trim().split("\n").slice(0, 12).join("\n        ")}`);
      }
    },
  };
}

/** Wait until something is there: not nothing, not false.  Throws with `what` when it does not come. */
export async function until<T>(what: string, look: () => T | PromiseLike<T>, ms = 20_000): Promise<NonNullable<T>> {
  const end = Date.now() + ms;
  let last: unknown;
  for (;;) {
    try {
      const found = await look();
      if (found) return found;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) throw new Error(`${what} did not come within ${ms / 1000} s${last ? `: ${(last as Error).message}` : ""}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
