// Removal of terminal escape sequences and control characters.  Pure: does not import vscode.

const ESCAPE_SEQUENCES = new RegExp(
  [
    "\\u001b\\][^\\u0007\\u001b]*(?:\\u0007|\\u001b\\\\)", // OSC: titles, links, shell integration
    "\\u001b[PX^_][\\s\\S]*?\\u001b\\\\", // DCS, SOS, PM, APC
    "\\u001b\\[[0-?]*[ -/]*[@-~]", // CSI: colors, cursor movement
    "\\u001b[ -/]*[0-~]", // other escape sequences
  ].join("|"),
  "g",
);

/** Return terminal output as plain text. */
export function stripTerminalCodes(output: string): string {
  return output
    .replace(ESCAPE_SEQUENCES, "")
    .split("\n")
    .map((line) => line.replace(/\r+$/, "").split("\r").pop() as string) // text before a carriage return was overwritten
    .join("\n")
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, "");
}
