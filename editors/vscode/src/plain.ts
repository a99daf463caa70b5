// What a terminal has written, without what only a terminal understands.  Pure.

const SEQUENCES = new RegExp(
  [
    "\\u001b\\][^\\u0007\\u001b]*(?:\\u0007|\\u001b\\\\)", // titles, links, marks of shell integration
    "\\u001b[PX^_][\\s\\S]*?\\u001b\\\\",
    "\\u001b\\[[0-?]*[ -/]*[@-~]", // colours, movements
    "\\u001b[ -/]*[0-~]",
  ].join("|"),
  "g",
);

export function plainText(output: string): string {
  return output
    .replace(SEQUENCES, "")
    .split("\n")
    .map((line) => line.replace(/\r+$/, "").split("\r").pop() as string) // what was written over is gone
    .join("\n")
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, "");
}
