// Location of the server executable: setting, environments, PATH, folders of tools, private environment.
// Pure: the caller passes the state of the machine.

import * as path from "node:path";

/** The state of the machine that decides which programs are found. */
export interface Machine {
  /** Workspace folders. */
  folders: readonly string[];
  /** Whether programs in the workspace may be run. */
  trusted: boolean;
  env: Readonly<Record<string, string | undefined>>;
  home: string;
  windows: boolean;
  isExecutable(file: string): boolean;
  /** Return the path without links; the path itself if it does not exist. */
  realPath(file: string): string;
}

export interface LocateOptions extends Machine {
  /** Value of `promptls.server.path`. */
  setting: string;
  /** Path of the private environment; it need not exist. */
  environment: string;
}

export interface ServerExecutable {
  command: string;
  /** Shown in the log and by the doctor. */
  origin:
    | "the setting promptls.server.path"
    | "the workspace's environment"
    | "the active environment"
    | "PATH"
    | "a folder of tools"
    | "the private environment";
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
  const setting = options.setting.trim();
  if (setting) {
    const command = expandHome(setting, options.home);
    const file = path.isAbsolute(command) ? command : findProgram(command, options);
    const searched = [command];
    if (file !== undefined && options.isExecutable(file)) {
      return { executable: { command: file, origin: "the setting promptls.server.path" }, problem: "", searched };
    }
    const problem = `promptls.server.path: ${command} is not an executable file. Correct or clear the setting.`;
    return { problem, searched };
  }
  const workspace = options.folders.flatMap((folder) => [path.join(folder, ".venv"), path.join(folder, "venv")]);
  const active = [options.env.VIRTUAL_ENV, options.env.CONDA_PREFIX].filter((folder) => folder !== undefined);
  const programs = (environments: readonly string[]) =>
    environments.map((folder) => executablePath(folder, "promptls", options.windows));
  const candidates: [ServerExecutable["origin"], string[]][] = [
    ["the workspace's environment", programs(workspace).filter((file) => mayRun(file, options))],
    ["the active environment", programs(active).filter((file) => mayRun(file, options))],
    ["PATH", inFolders("promptls", pathFolders(options), options).filter((file) => mayRun(file, options))],
    ["a folder of tools", inFolders("promptls", toolFolders(options), options)],
    ["the private environment", programs([options.environment])],
  ];
  for (const [origin, files] of candidates) {
    const command = files.find(options.isExecutable);
    if (command !== undefined) return { executable: { command, origin }, problem: "", searched: [] };
  }
  const searched = candidates.flatMap(([origin, files]) => (origin === "PATH" ? ["PATH"] : files));
  const problem =
    "The promptls server was not found. Run “promptls: Install Server…”, or “uv tool install” with its wheel in a terminal.";
  return { problem, searched: [...new Set(searched)] };
}

/** Find a program on PATH or in the folders of tools; an editor that was started from a desktop can lack them on PATH. */
export function findProgram(name: string, machine: Machine): string | undefined {
  if (/[/\\]/.test(name)) return undefined;
  const onPath = inFolders(name, pathFolders(machine), machine).filter((file) => mayRun(file, machine));
  return [...onPath, ...inFolders(name, toolFolders(machine), machine)].find(machine.isExecutable);
}

/** Return the path of a program in a virtual environment. */
export function executablePath(environment: string, name: string, windows: boolean): string {
  return windows ? path.join(environment, "Scripts", `${name}.exe`) : path.join(environment, "bin", name);
}

function inFolders(name: string, folders: readonly string[], { windows }: Machine): string[] {
  const file = windows && !/\.exe$/i.test(name) ? `${name}.exe` : name;
  return folders.map((folder) => path.join(folder, file));
}

/** Return the folders of PATH without relative ones, because they would point into the workspace. */
function pathFolders({ env, windows }: Machine): string[] {
  return (env.PATH ?? "").split(windows ? ";" : ":").filter((folder) => path.isAbsolute(folder));
}

/** Return the folders in which uv and pipx install programs. */
function toolFolders(machine: Machine): string[] {
  const { env, home } = machine;
  const data = env.XDG_DATA_HOME && path.join(env.XDG_DATA_HOME, "../bin");
  const configured = [env.UV_TOOL_BIN_DIR || env.XDG_BIN_HOME || data, env.PIPX_BIN_DIR];
  const usable = configured.filter((folder) => folder && path.isAbsolute(folder) && mayRun(folder, machine));
  return [path.join(home, ".local/bin"), ...(usable as string[])];
}

/** Check whether a program is outside of the workspace, also where its links lead, or the workspace is trusted. */
function mayRun(file: string, { folders, trusted, realPath }: Machine): boolean {
  const isInside = (inner: string, outer: string) => {
    const relative = path.relative(outer, inner);
    return relative.split(path.sep)[0] !== ".." && !path.isAbsolute(relative);
  };
  const paths = [file, realPath(file), realPath(path.dirname(file))];
  return trusted || !folders.some((folder) => paths.some((p) => isInside(p, folder) || isInside(p, realPath(folder))));
}

function expandHome(command: string, home: string): string {
  return command === "~" || command.startsWith("~/") || command.startsWith("~\\") ? home + command.slice(1) : command;
}
