// The real workbench on a loopback port, with its own home, settings and extensions.  Everything it starts is in one
// process group, which ends with it.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import * as fs from "node:fs";
import * as net from "node:net";
import * as path from "node:path";
import { cache, command, work } from "./places";
import { until } from "./report";
import { makeWorkspace } from "./workspace";

const NOWHERE = "http://127.0.0.1:9/none";

export interface Options {
  name: string;
  vsix: string[];
  settings?: Record<string, unknown>;
  env?: Record<string, string>;
  trust?: boolean;
}

export interface Workbench {
  url: string;
  home: string;
  workspace: string;
  /** Where the server keeps its index; also tells its processes from others. */
  index: string;
  settingsFile: string;
  stop(): Promise<void>;
}

export async function startWorkbench(options: Options): Promise<Workbench> {
  const home = path.join(work, options.name);
  const [user, extensions, index] = [path.join(home, "user"), path.join(home, "extensions"), path.join(home, "index")];
  fs.mkdirSync(extensions, { recursive: true });
  const workspace = makeWorkspace(path.join(home, "shop"));
  const settings = JSON.stringify({ ...QUIET, "security.workspace.trust.enabled": options.trust ?? false, "promptls.server.path": command, ...options.settings });
  // Settings of machine scope are read from Machine, all others from User.
  for (const scope of ["User", "Machine"]) {
    fs.mkdirSync(path.join(user, scope), { recursive: true });
    fs.writeFileSync(path.join(user, scope, "settings.json"), settings);
  }
  const port = await freePort();
  const config = path.join(home, "config.yaml");
  fs.writeFileSync(config, `bind-addr: 127.0.0.1:${port}\nauth: none\ncert: false\n`);
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    HOME: home,
    XDG_CONFIG_HOME: path.join(home, ".config"),
    XDG_DATA_HOME: path.join(home, ".local"),
    XDG_CACHE_HOME: path.join(home, ".cache"),
    XDG_STATE_HOME: path.join(home, ".state"),
    SHELL: "/bin/bash",
    EXTENSIONS_GALLERY: JSON.stringify({ serviceUrl: NOWHERE, itemUrl: NOWHERE, resourceUrlTemplate: NOWHERE }),
    PROMPTLS_CACHE: index,
    ...options.env,
  };
  delete env.VSCODE_IPC_HOOK_CLI;
  const entry = path.join(cache, "code-server/node_modules/code-server/out/node/entry.js");
  const base = [entry, "--config", config, "--user-data-dir", user, "--extensions-dir", extensions];
  const installs = options.vsix.flatMap((file) => ["--install-extension", file]);
  execFileSync(process.execPath, [...base, ...installs], { env, stdio: "pipe" });

  const log = fs.openSync(path.join(home, "workbench.log"), "w");
  const flags = ["--disable-telemetry", "--disable-update-check", "--disable-proxy"];
  if (!options.trust) flags.push("--disable-workspace-trust");
  const child = spawn(process.execPath, [...base, ...flags, workspace], { env, stdio: ["ignore", log, log], detached: true });
  const stopNow = () => kill(child);
  process.once("exit", stopNow);
  const url = `http://127.0.0.1:${port}`;
  await until("the workbench", async () => (await fetch(`${url}/healthz`).catch(() => undefined))?.ok, 30_000);
  return {
    url,
    home,
    workspace,
    index,
    settingsFile: path.join(user, "Machine/settings.json"),
    async stop() {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      stopNow();
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 5000))]);
      process.off("exit", stopNow);
    },
  };
}

const QUIET = {
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "telemetry.telemetryLevel": "off",
  "extensions.autoUpdate": false,
  "extensions.autoCheckUpdates": false,
  "extensions.ignoreRecommendations": true,
  "update.mode": "none",
  "git.openRepositoryInParentFolders": "never",
  "typescript.disableAutomaticTypeAcquisition": true,
  "files.simpleDialog.enable": true,
  "files.autoSave": "off", // in a browser it is on
  "editor.minimap.enabled": false,
};

function kill(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGTERM");
  } catch {
    // it has ended by itself
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = net.createServer().once("error", reject);
    socket.listen(0, "127.0.0.1", () => {
      const { port } = socket.address() as net.AddressInfo;
      socket.close(() => resolve(port));
    });
  });
}
