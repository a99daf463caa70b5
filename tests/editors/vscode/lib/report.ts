// Test report: one line per test and the counts; and a helper that waits for a condition.

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
      const seconds = (Date.now() - last) / 1000;
      last = Date.now();
      if (error === undefined) {
        this.passed++;
        console.log(`ok    ${suite}  ${name}${seconds >= 1 ? ` (${seconds.toFixed(1)} s)` : ""}`);
      } else {
        this.failed++;
        const text = error instanceof Error ? error.message : String(error);
        console.log(`FAIL  ${suite}  ${name}\n        ${text.trim().split("\n").slice(0, 12).join("\n        ")}`);
      }
    },
  };
}

/** Poll until a value is truthy and return it.  Throws an error with `description` after the timeout. */
export async function waitFor<T>(
  description: string,
  poll: () => T | PromiseLike<T>,
  timeoutMs = 60_000,
): Promise<NonNullable<T>> {
  const end = Date.now() + timeoutMs;
  let lastError: unknown;
  for (;;) {
    try {
      const value = await poll();
      if (value) return value;
      lastError = undefined;
    } catch (error) {
      lastError = error;
    }
    if (Date.now() > end) {
      const cause = lastError ? `: ${(lastError as Error).message}` : "";
      throw new Error(`Timeout after ${timeoutMs / 1000} s: ${description}${cause}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
