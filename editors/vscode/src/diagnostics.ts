// The editor's problems as the protocol says them; our own are left out, since they are about the prompt.  Pure.

import type { Diagnostic, Position } from "./protocol";

/** As much of VS Code's diagnostic as is told. */
export interface Shown {
  range: { start: Position; end: Position };
  message: string;
  severity: number;
  source?: string | undefined;
  code?: string | number | { value: string | number } | undefined;
}

export function lspDiagnostics(shown: readonly Shown[]): Diagnostic[] {
  return shown
    .filter((one) => one.source !== "promptls")
    .map((one) => {
      const { start, end } = one.range;
      const code = typeof one.code === "object" ? one.code.value : one.code;
      return {
        range: {
          start: { line: start.line, character: start.character },
          end: { line: end.line, character: end.character },
        },
        message: one.message,
        severity: one.severity + 1, // VS Code counts from 0, the protocol from 1
        ...(code !== undefined && code !== "" && { code }),
        ...(one.source && { source: one.source }),
      };
    });
}
