// Conversion of editor diagnostics to LSP diagnostics.  Pure: does not import vscode.

import type { Diagnostic, Position } from "./protocol";

/** The fields of `vscode.Diagnostic` that are sent. */
export interface EditorDiagnostic {
  range: { start: Position; end: Position };
  message: string;
  severity: number;
  source?: string | undefined;
  code?: string | number | { value: string | number } | undefined;
}

/** Convert diagnostics to the LSP format, without those of promptls, which concern the prompt and not the code. */
export function toLspDiagnostics(diagnostics: readonly EditorDiagnostic[]): Diagnostic[] {
  return diagnostics
    .filter((diagnostic) => diagnostic.source !== "promptls")
    .map((diagnostic) => {
      const { start, end } = diagnostic.range;
      const code = typeof diagnostic.code === "object" ? diagnostic.code.value : diagnostic.code;
      return {
        range: {
          start: { line: start.line, character: start.character },
          end: { line: end.line, character: end.character },
        },
        message: diagnostic.message,
        severity: diagnostic.severity + 1, // VS Code counts severities from 0, LSP from 1
        ...(code !== undefined && code !== "" && { code }),
        ...(diagnostic.source && { source: diagnostic.source }),
      };
    });
}
