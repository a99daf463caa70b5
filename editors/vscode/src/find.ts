// Where the server is: the setting, the workspace's virtual environment, PATH, the private environment.  Pure: what
// the machine is like comes in as a value.

import * as path from "node:path";

export interface Surroundings {
  /** `promptls.server.path` */
  setting: string;
  /** Workspace folders whose environments may be used: none unless the workspace is trusted. */
  folders: readonly string[];
  /** The variable PATH. */
  path: string;
  home: string;
  /** The private environment, whether it exists or not. */
  environment: string;
  windows: boolean;
  isProgram(file: string): boolean;
}

export interface Found {
  command: string;
  /** Said in the log and by the doctor. */
  origin: "the setting promptls.server.path" | "the workspace's environment" | "PATH" | "the private environment";
}

/** The server's program, or a sentence that says what is wrong.  `looked` names the places in their order. */
export function findServer(at: Surroundings): { found?: Found; problem: string; looked: string[] } {
  const looked: string[] = [];
  const setting = at.setting.trim();
  if (setting) {
    const command = expand(setting, at.home);
    const program = path.isAbsolute(command) ? command : onPath(command, at);
    looked.push(command);
    if (program !== undefined && at.isProgram(program)) {
      return { found: { command: program, origin: "the setting promptls.server.path" }, problem: "", looked };
    }
    const problem = `The setting promptls.server.path names ${command}, which is no program here; correct it or empty it.`;
    return { problem, looked };
  }
  for (const folder of at.folders) {
    for (const name of [".venv", "venv"]) {
      const command = programIn(path.join(folder, name), "promptls", at.windows);
      looked.push(command);
      if (at.isProgram(command)) return { found: { command, origin: "the workspace's environment" }, problem: "", looked };
    }
  }
  looked.push("PATH");
  const command = onPath("promptls", at);
  if (command !== undefined) return { found: { command, origin: "PATH" }, problem: "", looked };
  const own = programIn(at.environment, "promptls", at.windows);
  looked.push(own);
  if (at.isProgram(own)) return { found: { command: own, origin: "the private environment" }, problem: "", looked };
  const problem = "The server promptls is not installed on this machine; run “pip install .” in its clone, or name the program in promptls.server.path.";
  return { problem, looked };
}

/** The first of PATH's folders that has the program; relative ones lead into the workspace and are passed over. */
export function onPath(name: string, at: Pick<Surroundings, "path" | "windows" | "isProgram">): string | undefined {
  if (/[/\\]/.test(name)) return undefined;
  const folders = at.path.split(at.windows ? ";" : ":").filter((folder) => path.isAbsolute(folder));
  const file = at.windows && !/\.exe$/i.test(name) ? `${name}.exe` : name;
  return folders.map((folder) => path.join(folder, file)).find(at.isProgram);
}

/** A program of a virtual environment. */
export function programIn(environment: string, name: string, windows: boolean): string {
  return windows ? path.join(environment, "Scripts", `${name}.exe`) : path.join(environment, "bin", name);
}

function expand(command: string, home: string): string {
  return command === "~" || command.startsWith("~/") || command.startsWith("~\\") ? home + command.slice(1) : command;
}
