// Location of the server executable: setting, virtual environment of the workspace, PATH, private environment.
// Pure: the caller passes the state of the machine.

import * as path from "node:path";

export interface LocateOptions {
  /** Value of `promptls.server.path`. */
  setting: string;
  /** Workspace folders whose virtual environments may be used: empty unless the workspace is trusted. */
  folders: readonly string[];
  /** Value of the PATH variable. */
  path: string;
  home: string;
  /** Path of the private environment; it need not exist. */
  environment: string;
  windows: boolean;
  isExecutable(file: string): boolean;
}

export interface ServerExecutable {
  command: string;
  /** Shown in the log and by the doctor. */
  origin: "the setting promptls.server.path" | "the workspace's environment" | "PATH" | "the private environment";
}

export interface LocateResult {
  executable?: ServerExecutable;
  /** Why no executable was found, as a sentence for the user; "" on success. */
  problem: string;
  /** The searched locations, in order. */
  searched: string[];
}

/** Find the server executable. */
export function locateServer(options: LocateOptions): LocateResult {
  const searched: string[] = [];
  const setting = options.setting.trim();
  if (setting) {
    const command = expandHome(setting, options.home);
    const file = path.isAbsolute(command) ? command : findOnPath(command, options);
    searched.push(command);
    if (file !== undefined && options.isExecutable(file)) {
      return { executable: { command: file, origin: "the setting promptls.server.path" }, problem: "", searched };
    }
    const problem = `promptls.server.path: ${command} is not an executable file. Correct or clear the setting.`;
    return { problem, searched };
  }
  for (const folder of options.folders) {
    for (const name of [".venv", "venv"]) {
      const command = executablePath(path.join(folder, name), "promptls", options.windows);
      searched.push(command);
      if (options.isExecutable(command)) {
        return { executable: { command, origin: "the workspace's environment" }, problem: "", searched };
      }
    }
  }
  searched.push("PATH");
  const command = findOnPath("promptls", options);
  if (command !== undefined) return { executable: { command, origin: "PATH" }, problem: "", searched };
  const privateCommand = executablePath(options.environment, "promptls", options.windows);
  searched.push(privateCommand);
  if (options.isExecutable(privateCommand)) {
    return { executable: { command: privateCommand, origin: "the private environment" }, problem: "", searched };
  }
  const problem =
    "The promptls server was not found on the PATH of the editor. Set promptls.server.path, or install it with “pip install .” in a clone.";
  return { problem, searched };
}

/** Find a program on PATH.  Relative folders of PATH are skipped, because they would point into the workspace. */
export function findOnPath(
  name: string,
  options: Pick<LocateOptions, "path" | "windows" | "isExecutable">,
): string | undefined {
  if (/[/\\]/.test(name)) return undefined;
  const folders = options.path.split(options.windows ? ";" : ":").filter((folder) => path.isAbsolute(folder));
  const file = options.windows && !/\.exe$/i.test(name) ? `${name}.exe` : name;
  return folders.map((folder) => path.join(folder, file)).find(options.isExecutable);
}

/** Return the path of a program in a virtual environment. */
export function executablePath(environment: string, name: string, windows: boolean): string {
  return windows ? path.join(environment, "Scripts", `${name}.exe`) : path.join(environment, "bin", name);
}

function expandHome(command: string, home: string): string {
  return command === "~" || command.startsWith("~/") || command.startsWith("~\\") ? home + command.slice(1) : command;
}
